import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Kysely } from 'kysely';
import { unixMillis } from '../../../gateway/ground/domain/units.js';
import { KEY_CACHE_MS } from '../../../gateway/customers/keys/authenticate.js';
import { createKey } from '../../../gateway/customers/keys/format.js';
import { openKeys, type CreatedKey, type Keys } from '../../../gateway/customers/keys/keys.js';
import type { KeyTables } from '../../../gateway/customers/keys/schema.js';
import type { Store } from '../../../gateway/ground/store/store.js';
import { givenAccount, handClock, openAccountStore } from '../../support/accounts.js';
import { realRandom } from '../../support/ports.js';

let store: Store;
let clock: ReturnType<typeof handClock>;
let keys: Keys;
let reads: number;
let account: string;

/** Counts reads of the database, which is what the cache is there to spare. */
const counted = (inner: Store): Store => ({
  ...inner,
  read: (work) => {
    reads += 1;
    return inner.read(work);
  },
});

beforeEach(async () => {
  store = await openAccountStore();
  clock = handClock();
  reads = 0;
  keys = openKeys(counted(store), clock, realRandom);
  account = await givenAccount(store, { plan: 'pro' });
});
afterEach(() => store.close());

const ask = (key: string, by: Keys = keys) => by.authenticate(`Bearer ${key}`);
const codeOf = async (answer: ReturnType<Keys['authenticate']>) => {
  const result = await answer;
  return result.kind === 'refusal' ? result.code : 'caller';
};
const made = () => keys.create(account, 'person-1', { name: 'script' });

describe('checking a key', () => {
  test('a good key says whose it is, on which plan, and what bounds it', async () => {
    const { id, key } = await keys.create(account, 'person-1', {
      name: 'script',
      monthlyBudget: 7,
      ratePerSecond: 3,
    });
    expect(await ask(key)).toEqual({
      kind: 'caller',
      caller: {
        account: { id: account, plan: 'pro', ratePerSecond: 50 },
        key: {
          id,
          name: 'script',
          createdBy: 'person-1',
          monthlyBudget: 7,
          ratePerSecond: 3,
          expiresAt: null,
        },
      },
    });
  });

  test.each([undefined, ''])('no header (%p) is a missing key', async (header) => {
    expect(await codeOf(keys.authenticate(header))).toBe('missing_api_key');
  });

  test.each(['Basic abc', 'Bearer', 'Bearer ', 'Bearer a b', 'Bearer nonsense', 's402_live_x'])(
    'the header %p is an invalid key and never reaches the database',
    async (header) => {
      expect(await codeOf(keys.authenticate(header))).toBe('invalid_api_key');
      expect(reads).toBe(0);
    },
  );

  test('a mistyped key never reaches the database', async () => {
    const { key } = await made();
    expect(await codeOf(ask(`${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`))).toBe(
      'invalid_api_key',
    );
    expect(reads).toBe(0);
  });

  test('a key in use is read from the database once a second, by however many at once', async () => {
    const { key } = await made();
    await Promise.all(Array.from({ length: 100 }, () => ask(key)));
    for (let ms = 0; ms < KEY_CACHE_MS; ms += 10) {
      await ask(key);
      clock.move(10);
    }
    expect(reads).toBe(1);
    await ask(key);
    expect(reads).toBe(2);
  });

  test('guessing well-formed keys does not push a customer’s key out of the cache', async () => {
    const { key } = await made();
    await ask(key);
    for (let guess = 0; guess < 10_100; guess++) await ask(createKey(realRandom));
    reads = 0;
    expect(await codeOf(ask(key))).toBe('caller');
    expect(reads).toBe(0);
  });

  test('an unknown key is looked up once a second at the most', async () => {
    const guess = createKey(realRandom);
    expect(await codeOf(ask(guess))).toBe('invalid_api_key');
    expect(await codeOf(ask(guess))).toBe('invalid_api_key');
    expect(reads).toBe(1);
  });

  test('a suspended account is told so with a 403, and its keys work again afterwards', async () => {
    const { key } = await made();
    const suspend = (at: number | null) =>
      store.write((tx: Kysely<KeyTables>) =>
        tx
          .updateTable('accounts')
          .set({ suspended_at: at, suspended_reason: 'unpaid invoice' })
          .execute(),
      );
    await suspend(1);
    const refused = await ask(key);
    expect(refused).toMatchObject({ code: 'account_suspended', status: 403 });
    expect(refused).toMatchObject({ detail: expect.stringContaining('unpaid invoice') });
    await suspend(null);
    keys.forget();
    expect(await codeOf(ask(key))).toBe('caller');
  });

  test('an expired key is refused from that millisecond on, also when it is cached', async () => {
    const { key } = await keys.create(account, null, {
      name: 'short',
      expiresAt: unixMillis(clock.now() + 500),
    });
    clock.move(499);
    expect(await codeOf(ask(key))).toBe('caller');
    clock.move(1);
    expect(await codeOf(ask(key))).toBe('invalid_api_key');
  });
});

describe('taking a key back', () => {
  test('a revoked key is refused on the next request of the same process', async () => {
    const { id, key } = await made();
    expect(await codeOf(ask(key))).toBe('caller');
    expect(await keys.revoke(account, id)).toBe('revoked');
    expect(await codeOf(ask(key))).toBe('invalid_api_key');
  });

  test('a look-up that began before a revocation does not keep the key alive after it', async () => {
    const { id, key } = await made();
    let goOn = (): void => undefined;
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    const slow = openKeys(
      {
        ...store,
        read: async (work) => {
          const seen = await store.read(work);
          await gate;
          return seen;
        },
      },
      clock,
      realRandom,
    );
    const early = ask(key, slow);
    await slow.revoke(account, id);
    goOn();
    await early;
    expect(await codeOf(ask(key, slow))).toBe('invalid_api_key');
  });

  test('another process refuses a revoked key within the stated second', async () => {
    const { id, key } = await made();
    const elsewhere = openKeys(store, clock, realRandom);
    expect(await codeOf(ask(key, elsewhere))).toBe('caller');
    await keys.revoke(account, id);
    clock.move(KEY_CACHE_MS);
    expect(await codeOf(ask(key, elsewhere))).toBe('invalid_api_key');
  });

  test('nobody revokes or rotates a key of another account', async () => {
    const { id, key } = await made();
    const stranger = await givenAccount(store);
    expect(await keys.revoke(stranger, id)).toBe('not-found');
    expect(await keys.rotate(stranger, id, null, 0)).toBe('not-found');
    expect(await codeOf(ask(key))).toBe('caller');
  });

  test('after a rotation both keys work until the overlap ends, then only the new one', async () => {
    const { id, key } = await made();
    const next = (await keys.rotate(account, id, 'person-2', 60_000)) as CreatedKey;
    expect(await codeOf(ask(key))).toBe('caller');
    expect(await codeOf(ask(next.key))).toBe('caller');
    clock.move(60_000);
    expect(await codeOf(ask(key))).toBe('invalid_api_key');
    expect(await codeOf(ask(next.key))).toBe('caller');
  });
});

describe('what is kept of a key', () => {
  test('the database holds no key, only its hash and its last four characters', async () => {
    const { key } = await made();
    const rows = await store.read((db: Kysely<KeyTables>) =>
      db.selectFrom('api_keys').selectAll().execute(),
    );
    expect(rows).toHaveLength(1);
    expect(Object.values(rows[0] ?? {}).join(' ')).not.toContain(key.slice(10, 37));
    expect(await keys.list(account)).toMatchObject([{ last4: key.slice(-4), name: 'script' }]);
  });

  test('the last use of a key is seen after the next flush', async () => {
    const { key } = await made();
    clock.move(5);
    await ask(key);
    await keys.flushLastUses();
    expect(await keys.list(account)).toMatchObject([{ lastUsedAt: clock.now() }]);
  });
});
