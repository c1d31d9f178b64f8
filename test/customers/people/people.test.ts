import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ENGINES, engineOf } from '../../support/engines.js';
import type { Kysely } from 'kysely';
import { openCredits } from '../../../gateway/customers/credits/credits.js';
import { prunePeople } from '../../../gateway/customers/people/prune.js';
import type { PeopleTables } from '../../../gateway/customers/people/schema.js';
import { handClock } from '../../support/accounts.js';
import {
  browser,
  givenPerson,
  openPeopleWorld,
  PASSWORD,
  personId,
  type PeopleWorld,
} from '../../support/people.js';
import { realClock, realRandom } from '../../support/ports.js';

describe.each(ENGINES)('on %s', (name) => {
  let world: PeopleWorld;
  let run = 0;
  /** An address that no other test has. */
  const at = (who: string) => `${who}@test-${run}.example`;
  const engine = engineOf(name);

  beforeAll(engine.start);
  afterAll(engine.stop);
  beforeEach(async () => {
    run += 1;
    world = await openPeopleWorld(engine.location());
  });
  afterEach(() => world.close());

  const accountOf = async (email: string) => {
    const [membership] = await world.team.memberships(await personId(world.store, email));
    if (!membership) throw new Error(`${email} has no account`);
    return membership;
  };

  describe('signing up', () => {
    test('a confirmed address gets an account, the role Admin and 1,000 credits', async () => {
      const ada = await givenPerson(world, at('ada'));
      expect(await world.people.session(ada)).toMatchObject({ person: { email: at('ada') } });
      const { accountId, role } = await accountOf(at('ada'));
      expect(role).toBe('admin');
      expect(
        await openCredits(world.store, realClock, realRandom).balance(accountId),
      ).toMatchObject({
        available: 1000,
      });
    });

    test('an unconfirmed address has no person, no password and no account', async () => {
      await world.people.signUp({ name: 'Eve', email: at('eve') }, browser());
      const outcome = await world.people.signIn(at('eve'), PASSWORD, browser());
      expect(outcome).toMatchObject({
        kind: 'no',
        message: expect.stringContaining('Wrong email address or password'),
      });
      await expect(personId(world.store, at('eve'))).rejects.toThrow('no result');
    });

    test('a later sign-up takes the place of an earlier one, with its link', async () => {
      await world.people.signUp({ name: 'Eve', email: at('ada') }, browser());
      const first = await world.linkOf(at('ada'), 'token');
      await world.people.signUp({ name: 'Ada', email: at('ada').toUpperCase() }, browser());
      const second = await world.linkOf(at('ada'), 'token');
      const chosen = { password: PASSWORD };
      expect((await world.people.verify(first, chosen, browser())).kind).toBe('no');
      expect(await world.people.openSignUp(second)).toMatchObject({ name: 'Ada' });
      expect((await world.people.verify(second, chosen, browser())).kind).toBe('done');
    });

    test('a link that was opened twice gives no second account', async () => {
      await world.people.signUp({ name: 'Ada', email: at('ada') }, browser());
      const token = await world.linkOf(at('ada'), 'token');
      const open = () => world.people.verify(token, { password: PASSWORD }, browser());
      const both = await Promise.all([open(), open()]);
      expect(both.map(({ kind }) => kind).sort()).toEqual(['done', 'no']);
      expect((await open()).kind).toBe('no');
      const id = await personId(world.store, at('ada'));
      expect(await world.team.memberships(id)).toHaveLength(1);
    });

    test('nobody learns from sign-up, sign-in or reset whether an address has an account', async () => {
      await givenPerson(world, at('ada'));
      const { people } = world;
      const [known, unknown] = await Promise.all(
        [at('ada'), at('nobody')].map(async (email) => ({
          signUp: await people.signUp({ name: 'x', email }, browser()),
          signIn: await people.signIn(email, 'a wrong password', browser()),
          forgot: await people.forgot(email.replace('nobody', 'no.one'), browser()),
        })),
      );
      expect(known).toEqual(unknown);
      await world.mailer.drain();
      expect((await world.mailTo(at('nobody'))).subject).toContain('Confirm');
    });

    test('refusing an unknown address takes as long as refusing a wrong password', async () => {
      await givenPerson(world, at('ada'));
      const refusedAfterMs = async (email: string) => {
        const startedMs = performance.now();
        await world.people.signIn(email, 'a wrong password', browser());
        return performance.now() - startedMs;
      };
      const times: { readonly known: number; readonly unknown: number }[] = [];
      for (let time = 0; time < 9; time++)
        // By turns, so that a busy machine slows both.
        times.push({
          known: await refusedAfterMs(at('ada')),
          unknown: await refusedAfterMs(at('no')),
        });
      const median = (of: 'known' | 'unknown') =>
        times.map((both) => both[of]).sort((a, b) => a - b)[4] ?? NaN;
      // Without the hash that is computed for nobody, the second is forty times faster.
      expect(median('unknown') / median('known')).toBeGreaterThan(0.1);
      expect(median('unknown') / median('known')).toBeLessThan(10);
    });

    test('somebody else’s sign-up with a known address does not change its password', async () => {
      await givenPerson(world, at('ada'));
      await world.people.signUp({ name: 'Eve', email: at('ada') }, browser());
      const mails = await world.mailTo(at('ada'));
      expect(mails.subject).toContain('already');
      const { people } = world;
      expect((await people.signIn(at('ada'), PASSWORD, browser())).kind).toBe('done');
    });

    test('a short password is refused in plain words', async () => {
      await world.people.signUp({ name: 'Ada', email: at('ada') }, browser());
      const token = await world.linkOf(at('ada'), 'token');
      const outcome = await world.people.verify(token, { password: 'short' }, browser());
      expect(outcome).toEqual({ kind: 'no', message: expect.stringContaining('at least 10') });
    });
  });

  describe('sessions', () => {
    test('signing in makes a new session: a cookie planted before is worth nothing after', async () => {
      const first = await givenPerson(world, at('ada'));
      const second = await world.people.signIn(at('ada'), PASSWORD, first);
      if (second.kind !== 'done') throw new Error(second.message);
      const next = browser(second.cookies);
      expect(next.cookie).not.toBe(first.cookie);
      const forged = { ...next, cookie: 'search402.session_token=planted.signature' };
      expect(await world.people.session(forged)).toBeUndefined();
    });

    test('a session that was ended is refused at once; others go on', async () => {
      const laptop = await givenPerson(world, at('ada'));
      const signedIn = await world.people.signIn(at('ada'), PASSWORD, browser());
      if (signedIn.kind !== 'done') throw new Error(signedIn.message);
      const phone = browser(signedIn.cookies);
      const other = (await world.people.sessions(laptop)).find(({ isThis }) => !isThis);
      expect((await world.people.endSession(other?.id ?? '', laptop)).kind).toBe('done');
      expect(await world.people.session(phone)).toBeUndefined();
      expect(await world.people.session(laptop)).toBeDefined();
    });

    test('nobody ends a session of somebody else', async () => {
      const [ada, eve] = [await givenPerson(world, at('ada')), await givenPerson(world, at('eve'))];
      const [session] = await world.people.sessions(ada);
      expect((await world.people.endSession(session?.id ?? '', eve)).kind).toBe('no');
      expect(await world.people.session(ada)).toBeDefined();
    });

    test('a new password ends all sessions, and its link works once', async () => {
      const ada = await givenPerson(world, at('ada'));
      await world.people.forgot(at('ada'), browser());
      const token = await world.linkOf(at('ada'), 'token');
      const next = 'another long password';
      expect((await world.people.reset(token, next, browser())).kind).toBe('done');
      expect(await world.people.session(ada)).toBeUndefined();
      expect((await world.people.reset(token, next, browser())).kind).toBe('no');
      expect((await world.people.signIn(at('ada'), next, browser())).kind).toBe('done');
    });

    test('signing out ends the session on the server, not only in the browser', async () => {
      const ada = await givenPerson(world, at('ada'));
      await world.people.signOut(ada);
      expect(await world.people.session(ada)).toBeUndefined();
    });
  });

  test('sessions that are over and sign-ups that nobody confirmed are deleted, nothing else', async () => {
    const ada = await givenPerson(world, at('ada'));
    await world.people.signUp({ name: 'Eve', email: at('eve') }, browser());
    const token = await world.linkOf(at('eve'), 'token');
    const later = (hours: number) => {
      const clock = handClock(Date.now());
      clock.move(hours * 3600 * 1000);
      return clock;
    };
    const waiting = (table: 'sign_ups' | 'mail_allowances') =>
      world.store.read((db: Kysely<PeopleTables>) => db.selectFrom(table).selectAll().execute());
    await prunePeople(world.store, later(0.9));
    expect(await world.people.session(ada)).toBeDefined();
    expect(await world.people.openSignUp(token)).toBeDefined();
    await prunePeople(world.store, later(8 * 24));
    expect(await world.people.session(ada)).toBeUndefined();
    expect([...(await waiting('sign_ups')), ...(await waiting('mail_allowances'))]).toEqual([]);
    expect(await world.team.memberships(await personId(world.store, at('ada')))).toHaveLength(1);
  });

  describe('teams', () => {
    const invite = async (admin: ReturnType<typeof browser>, email: string, role = 'member') => {
      const { accountId } = await accountOf(at('ada'));
      await world.people.invite(accountId, email, role as 'member', admin);
      return world.linkOf(email, 'id');
    };

    test('an invited person joins with the invited role, and has no account beside it', async () => {
      const ada = await givenPerson(world, at('ada'));
      const invitation = await invite(ada, at('bob'));
      const bob = await givenPerson(world, at('bob'));
      expect((await world.people.accept(invitation, bob)).kind).toBe('done');
      const bobId = await personId(world.store, at('bob'));
      expect(await world.team.memberships(bobId)).toMatchObject([{ role: 'member' }]);
      const { accountId } = await accountOf(at('ada'));
      expect((await world.team.members(accountId)).map(({ email }) => email)).toEqual([
        at('ada'),
        at('bob'),
      ]);
    });

    test('an invitation is accepted once, also by two requests at the same moment', async () => {
      const ada = await givenPerson(world, at('ada'));
      const invitation = await invite(ada, at('bob'));
      const bob = await givenPerson(world, at('bob'));
      const both = await Promise.all([
        world.people.accept(invitation, bob),
        world.people.accept(invitation, bob),
      ]);
      expect(both.filter(({ kind }) => kind === 'done')).toHaveLength(1);
      expect((await world.people.accept(invitation, bob)).kind).toBe('no');
    });

    test('an invitation is of no use to anyone but the invited address', async () => {
      const ada = await givenPerson(world, at('ada'));
      const invitation = await invite(ada, at('bob'));
      const eve = await givenPerson(world, at('eve'));
      expect(await world.people.accept(invitation, eve)).toMatchObject({
        kind: 'no',
        message: expect.stringContaining('another email address'),
      });
    });

    test('an invitation that was taken back or has expired is refused', async () => {
      const ada = await givenPerson(world, at('ada'));
      const taken = await invite(ada, at('bob'));
      const old = await invite(ada, at('cy'));
      await world.people.uninvite(taken, ada);
      await world.store.write((tx: Kysely<PeopleTables>) =>
        tx
          .updateTable('invitations')
          .set({ expiresAt: new Date(Date.now() - 1000).toISOString() })
          .where('id', '=', old)
          .execute(),
      );
      for (const [email, id] of [
        [at('bob'), taken],
        [at('cy'), old],
      ] as const) {
        const person = await givenPerson(world, email);
        expect((await world.people.accept(id, person)).kind).toBe('no');
      }
    });

    test('a Member invites nobody and takes no invitation back', async () => {
      const ada = await givenPerson(world, at('ada'));
      const bob = await (async () => {
        const invitation = await invite(ada, at('bob'));
        const person = await givenPerson(world, at('bob'));
        await world.people.accept(invitation, person);
        return person;
      })();
      const { accountId } = await accountOf(at('ada'));
      expect((await world.people.invite(accountId, at('x'), 'admin', bob)).kind).toBe('no');
      const open = await invite(ada, at('cy'));
      expect((await world.people.uninvite(open, bob)).kind).toBe('no');
      expect(await world.team.invitations(accountId)).toHaveLength(1);
    });

    test('the last Admin neither leaves nor is demoted, also when two do so at once', async () => {
      const ada = await givenPerson(world, at('ada'));
      const { accountId } = await accountOf(at('ada'));
      const adaId = await personId(world.store, at('ada'));
      expect(await world.team.remove(accountId, adaId)).toBe('last-admin');
      expect(await world.team.changeRole(accountId, adaId, 'member')).toBe('last-admin');
      const invitation = await invite(ada, at('bob'), 'admin');
      const bob = await givenPerson(world, at('bob'));
      await world.people.accept(invitation, bob);
      const bobId = await personId(world.store, at('bob'));
      const both = await Promise.all([
        world.team.remove(accountId, adaId),
        world.team.changeRole(accountId, bobId, 'member'),
      ]);
      expect([...both].sort()).toEqual(['changed', 'last-admin']);
      const members = await world.team.members(accountId);
      expect(members.filter(({ role }) => role === 'admin')).toHaveLength(1);
    });
  });
});
