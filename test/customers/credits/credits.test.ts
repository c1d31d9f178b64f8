import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Kysely } from 'kysely';
import { seedDevAccount } from '../../../gateway/customers/accounts/accounts.js';
import { openCredits, type Credits } from '../../../gateway/customers/credits/credits.js';
import type { CreditHold } from '../../../gateway/customers/credits/hold.js';
import type { AccountTables } from '../../../gateway/customers/credits/schema.js';
import { openKeys } from '../../../gateway/customers/keys/keys.js';
import type { Store } from '../../../gateway/ground/store/store.js';
import { ENGINES, engineOf } from '../../support/engines.js';
import { callerOf, givenAccount, handClock, openAccountStore } from '../../support/accounts.js';
import { realRandom } from '../../support/ports.js';

describe.each(ENGINES)('on %s', (name) => {
  let store: Store;
  let clock: ReturnType<typeof handClock>;
  let credits: Credits;
  const engine = engineOf(name);

  beforeAll(engine.start);
  afterAll(engine.stop);
  beforeEach(async () => {
    store = await openAccountStore(engine.location());
    clock = handClock();
    credits = openCredits(store, clock, realRandom);
  });
  afterEach(async () => {
    expect(await credits.reconcile()).toEqual([]);
    await store.close();
  });

  const holdOne = (account: string) => credits.hold(callerOf(account), realRandom.uuid());
  const isHeld = (result: Awaited<ReturnType<Credits['hold']>>): result is CreditHold =>
    result.kind === 'held';
  const someHold = async (account: string) => {
    const hold = await holdOne(account);
    if (!isHeld(hold)) throw new Error(hold.detail);
    return hold;
  };

  describe('credits', () => {
    test('a hundred parallel searches on ten credits hold exactly ten', async () => {
      const account = await givenAccount(store, { credits: 10 });
      const results = await Promise.all(Array.from({ length: 100 }, () => holdOne(account)));
      expect(results.filter(isHeld)).toHaveLength(10);
      const refused = results.filter((result) => !isHeld(result));
      expect(refused).toHaveLength(90);
      expect(refused[0]).toMatchObject({ code: 'insufficient_credits', status: 402 });
      await Promise.all(results.filter(isHeld).map((hold) => credits.spend(hold)));
      expect(await credits.balance(account)).toEqual({
        granted: 10,
        available: 0,
        held: 0,
        spent: 10,
      });
    });

    test('a search that failed spends nothing', async () => {
      const account = await givenAccount(store, { credits: 1 });
      await credits.release(await someHold(account));
      expect(await credits.balance(account)).toMatchObject({ available: 1, held: 0, spent: 0 });
    });

    test('a hold is closed once: spent is not released, released is not spent', async () => {
      const account = await givenAccount(store, { credits: 5 });
      const [spent, released] = [await someHold(account), await someHold(account)];
      expect(await credits.spend(spent)).toBe('spent');
      await Promise.all([credits.release(spent), credits.release(spent)]);
      await credits.release(released);
      expect(await credits.spend(released)).toBe('closed');
      expect(await Promise.all([credits.spend(released), credits.release(released)])).toEqual([
        'closed',
        undefined,
      ]);
      expect(await credits.balance(account)).toMatchObject({ available: 4, held: 0, spent: 1 });
    });

    test('what was held by the version before this one is given back when it has lapsed', async () => {
      const account = await givenAccount(store, { credits: 3 });
      await store.write(async (tx: Kysely<AccountTables>) => {
        await tx
          .insertInto('credit_transfers')
          .values({
            ...{ id: realRandom.uuid(), account_id: account, key_id: null, amount: 1 },
            ...{ debit: 'available', credit: 'spent', cause: 'search' },
            ...{ created_at: clock.now(), lapses_at: clock.now() + 60_000 },
          })
          .execute();
        await tx
          .updateTable('credit_balances')
          .set({ available: 2, held: 1 })
          .where('account_id', '=', account)
          .execute();
      });
      expect(await credits.reconcile()).toEqual([]);
      clock.move(59_999);
      expect(await credits.releaseLapsed()).toBe(0);
      clock.move(1);
      expect(await credits.releaseLapsed()).toBe(1);
      expect(await credits.balance(account)).toMatchObject({ available: 3, held: 0 });
    });

    test('an account that does not exist holds nothing', async () => {
      expect(await holdOne('nobody')).toMatchObject({ code: 'insufficient_credits' });
    });
  });

  describe('grants', () => {
    test('a top-up counts once, however often and however parallel it is booked', async () => {
      const payment = realRandom.uuid();
      const account = await givenAccount(store, { credits: 1 });
      const booked = await Promise.all(
        Array.from({ length: 20 }, () => credits.grant(account, 500, 'top-up', payment)),
      );
      expect(booked.filter((outcome) => outcome === 'granted')).toHaveLength(1);
      expect(new Set(booked)).toEqual(new Set(['granted', 'granted-before']));
      expect(await credits.balance(account)).toMatchObject({ granted: 501, available: 501 });
    });

    test('a payment that was booked for one account is not booked for another', async () => {
      const payment = realRandom.uuid();
      const [one, other] = [await givenAccount(store), await givenAccount(store)];
      await credits.grant(one, 500, 'top-up', payment);
      expect(await credits.grant(other, 500, 'top-up', payment)).toBe('foreign');
      expect(await credits.balance(other)).toMatchObject({ granted: 1000 });
    });
  });

  describe('a key’s monthly budget', () => {
    const budgeted = async (monthlyBudget: number) => {
      const account = await givenAccount(store, { credits: 100 });
      const keys = openKeys(store, clock, realRandom);
      const { id } = await keys.create(account, null, { name: 'small', monthlyBudget });
      return { account, caller: callerOf(account, { id, monthlyBudget }) };
    };

    test('bounds its own parallel searches and leaves the rest of the account alone', async () => {
      const { account, caller } = await budgeted(7);
      const results = await Promise.all(
        Array.from({ length: 50 }, () => credits.hold(caller, realRandom.uuid())),
      );
      expect(results.filter(isHeld)).toHaveLength(7);
      expect(results.find((result) => !isHeld(result))).toMatchObject({
        code: 'insufficient_credits',
        detail: expect.stringContaining('budget of 7 credits'),
      });
      expect((await holdOne(account)).kind).toBe('held');
    });

    test('a failed search does not count; the next month starts at nothing', async () => {
      const { caller } = await budgeted(1);
      const first = await credits.hold(caller, realRandom.uuid());
      if (!isHeld(first)) throw new Error('not held');
      await credits.release(first);
      const second = await credits.hold(caller, realRandom.uuid());
      if (!isHeld(second)) throw new Error('not held');
      await credits.spend(second);
      expect((await credits.hold(caller, realRandom.uuid())).kind).toBe('refusal');
      clock.move(31 * 24 * 3600 * 1000);
      expect((await credits.hold(caller, realRandom.uuid())).kind).toBe('held');
    });
  });

  test('granted = available + held + spent after any parallel mix of movements', async () => {
    const step = fc.record({
      account: fc.constantFrom('a', 'b'),
      act: fc.constantFrom('hold', 'hold', 'hold', 'spend', 'release', 'grant', 'turn', 'look'),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { maxLength: 12 }), { maxLength: 12 }),
        async (rounds) => {
          const names = {
            a: await givenAccount(store, { credits: 5 }),
            b: await givenAccount(store, { credits: 5 }),
          };
          const open: CreditHold[] = [];
          const books = { granted: 10, spent: 0 };
          for (const round of rounds) {
            await Promise.all(
              round.map(async ({ account, act }) => {
                if (act === 'hold') {
                  const hold = await holdOne(names[account]);
                  if (isHeld(hold)) open.push(hold);
                } else if (act === 'grant') {
                  await credits.grant(names[account], 3, 'operator', realRandom.uuid());
                  books.granted += 3;
                } else if (act === 'turn') {
                  clock.move(100);
                  await credits.turn();
                } else if (act === 'look') {
                  await credits.balance(names[account]);
                } else {
                  const hold = open.shift();
                  if (hold && act === 'spend') {
                    if ((await credits.spend(hold)) === 'spent') books.spent += 1;
                  } else if (hold) await credits.release(hold);
                }
              }),
            );
            expect(await credits.reconcile()).toEqual([]);
          }
          const balances = await Promise.all([credits.balance(names.a), credits.balance(names.b)]);
          const sum = (pot: 'granted' | 'spent') =>
            balances.reduce((total, balance) => total + (balance?.[pot] ?? NaN), 0);
          expect({ granted: sum('granted'), spent: sum('spent') }).toEqual(books);
        },
      ),
      { numRuns: name === 'SQLite' ? 50 : 15 },
    );
  });

  test('the database itself refuses books that do not add up', async () => {
    const account = await givenAccount(store, { credits: 5 });
    const change = (set: { available?: bigint; spent?: bigint; held?: bigint }) =>
      store.write((tx: Kysely<AccountTables>) =>
        tx.updateTable('credit_balances').set(set).where('account_id', '=', account).execute(),
      );
    await expect(change({ available: 6n })).rejects.toThrow();
    await expect(change({ available: -1n, spent: 6n })).rejects.toThrow();
  });

  test('the development account is made once and its key comes back at every start', async () => {
    const first = await seedDevAccount(store, { clock, random: realRandom });
    const again = await seedDevAccount(store, { clock, random: realRandom, remembered: first });
    expect(again).toBe(first);
    expect(await credits.balance('development')).toMatchObject({ available: 1_000_000 });
    const keys = openKeys(store, clock, realRandom);
    const forgotten = await seedDevAccount(store, { clock, random: realRandom });
    expect((await keys.authenticate(`Bearer ${forgotten}`)).kind).toBe('caller');
    expect((await keys.authenticate(`Bearer ${first}`)).kind).toBe('refusal');
  });
});
