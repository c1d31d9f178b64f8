import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { inEvenTime } from '../../../gateway/edge/console/even-time.js';
import { handClock } from '../../support/accounts.js';
import { openConsoleWorld, type ConsoleWorld } from '../../support/console.js';
import { openTab, signedUp, type Tab } from '../../support/tab.js';

let world: ConsoleWorld;
let admin: Tab;
beforeAll(async () => {
  world = await openConsoleWorld();
  admin = await signedUp(world, 'ada@example.org');
  await signedUp(world, 'known@example.org');
  // Signed up, but never confirmed.
  await openTab(world).post('/console/sign-up', {
    name: 'Una',
    email: 'unconfirmed@example.org',
  });
});
afterAll(() => world.close());

const KINDS = ['known', 'unconfirmed', 'unknown'] as const;

/** Status and text of the answer to one form for each kind of address, without the address. */
async function answers(tab: () => Tab, path: string, form: (email: string) => object) {
  return Promise.all(
    KINDS.map(async (kind) => {
      const email = `${kind}@example.org`;
      const { status, text, headers } = await tab().post(
        path,
        form(email) as Record<string, string>,
      );
      // What the next page says is sealed, so only that there is such a cookie can be compared.
      const cookies = headers
        .getSetCookie()
        .map((cookie) => cookie.replace(/(search402_said)=[^;]+(.*)Expires=[^;]+/, '$1$2'));
      const seen = [status, headers.get('location'), cookies];
      return { seen, text: text.replaceAll(email, '…') };
    }),
  );
}

describe('nobody learns whether an address has an account', () => {
  test.each<[string, string, (email: string) => object]>([
    ['a reset', '/console/forgot', (email) => ({ email })],
    ['a sign-in', '/console/sign-in', (email) => ({ email, password: 'a wrong password' })],
    [
      'a sign-up',
      '/console/sign-up',
      (email) => ({ name: 'x', email: email.replace('unknown', 'nobody') }),
    ],
  ])('by the answer to %s', async (_, path, form) => {
    const [known, ...others] = await answers(() => openTab(world), path, form);
    for (const other of others) {
      const text = other.text.replaceAll('nobody@example.org', '…');
      expect({ ...other, text }).toEqual(known);
    }
  });

  test('by the answer to an invitation', async () => {
    const invite = async (email: string) => {
      const { status, text } = await admin.sent('/console/team/invite', { email, role: 'member' });
      const notice = /<div class="toast[^]*?<\/div>/.exec(text)?.[0].replaceAll(email, '…');
      return { status, notice };
    };
    const known = await invite('known@example.org');
    expect(known.notice).toContain('We sent an invitation to');
    expect(await invite('unconfirmed@example.org')).toEqual(known);
    expect(await invite('never-seen@example.org')).toEqual(known);
  });

  test('by the time of an answer: it ends with a whole step, whatever was found', async () => {
    const clock = handClock();
    const slept: number[] = [];
    const sleep = (ms: number) => {
      slept.push(ms);
      return Promise.resolve();
    };
    const took = async (ms: number, fails = false) => {
      const work = () => {
        clock.move(ms);
        return fails ? Promise.reject(new Error('broken')) : Promise.resolve('done');
      };
      const startMs = clock.monotonicMs();
      await inEvenTime({ ...clock, sleep }, work).catch(() => undefined);
      return clock.monotonicMs() - startMs + (slept.at(-1) ?? NaN);
    };
    expect([await took(3), await took(80), await took(249)]).toEqual([250, 250, 250]);
    expect([await took(251), await took(490)]).toEqual([500, 500]);
    expect(await took(40, true)).toBe(250);
  });

  test.each([
    ['/console/sign-up', { name: 'x' }],
    ['/console/forgot', {}],
  ])('%s is answered in such steps', async (path, form) => {
    for (const email of ['known@example.org', 'someone-else@example.org']) {
      const startMs = performance.now();
      await openTab(world).post(path, { ...form, email });
      // A timer may fire a millisecond early.
      expect(performance.now() - startMs).toBeGreaterThan(248);
    }
  });
});
