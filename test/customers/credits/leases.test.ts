/** Gateways that take credits from leases of one account: what is exact, and what a crash costs. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Kysely } from 'kysely';
import { openCredits, type Credits } from '../../../gateway/customers/credits/credits.js';
import type { CreditHold } from '../../../gateway/customers/credits/hold.js';
import type { AccountTables } from '../../../gateway/customers/credits/schema.js';
import { openKeys } from '../../../gateway/customers/keys/keys.js';
import { StoreUnavailable, type Store } from '../../../gateway/ground/store/store.js';
import { ENGINES, engineOf } from '../../support/engines.js';
import { callerOf, givenAccount, handClock, openAccountStore } from '../../support/accounts.js';
import { realRandom } from '../../support/ports.js';

type Held = Awaited<ReturnType<Credits['hold']>>;

const isHeld = (result: Held): result is CreditHold => result.kind === 'held';
const holdOne = (credits: Credits, account: string) =>
  credits.hold(callerOf(account), realRandom.uuid());
/** One search that is answered, if there is a credit for it. */
const search = async (credits: Credits, account: string) => {
  const hold = await holdOne(credits, account);
  if (isHeld(hold)) await credits.spend(hold);
  return hold;
};

describe.each(ENGINES)('on %s', (name) => {
  let store: Store;
  let clock: ReturnType<typeof handClock>;
  let gateways: Credits[] = [];
  const engine = engineOf(name);

  beforeAll(engine.start);
  afterAll(engine.stop);
  beforeEach(async () => {
    // Two gateways of this test share what no two processes do.
    store = { ...(await openAccountStore(engine.location())), isExclusive: false };
    clock = handClock();
    gateways = [];
  });
  afterEach(async () => {
    await Promise.all(gateways.map((one) => one.close()));
    expect(await gateway().reconcile()).toEqual([]);
    await store.close();
  });

  /** One more gateway on the same database, on a machine whose clock is `of`. */
  const gateway = (on: Store = store, of = clock): Credits => {
    const credits = openCredits(on, of, realRandom);
    gateways.push(credits);
    return credits;
  };
  const balance = async (account: string) => {
    const row = await store.read((db: Kysely<AccountTables>) =>
      db
        .selectFrom('credit_balances')
        .select(['available', 'held', 'spent'])
        .where('account_id', '=', account)
        .executeTakeFirstOrThrow(),
    );
    return Object.fromEntries(Object.entries(row).map(([pot, count]) => [pot, Number(count)]));
  };
  /** Searches at a steady pace, so that the gateway has a store of credits on lease. */
  const warmUp = async (credits: Credits, account: string) => {
    for (let searches = 0; searches < 20; searches += 1) {
      await search(credits, account);
      clock.move(10);
    }
    await credits.turn();
  };
  /** Every gateway's turn, again and again, until something has come to its end. */
  const turning = async <T>(work: Promise<T>): Promise<T> => {
    const state = { isOver: false };
    const end = () => (state.isOver = true);
    work.then(end, end);
    while (!state.isOver) {
      for (const one of gateways) await one.turn();
      await new Promise((resolve) => setImmediate(resolve));
    }
    return work;
  };

  test('searches of a busy account write nothing; a turn books all of them together', async () => {
    const account = await givenAccount(store, { credits: 1000 });
    const credits = gateway();
    await warmUp(credits, account);
    const { writes } = store.health();
    for (let searches = 0; searches < 40; searches += 1) await search(credits, account);
    expect(store.health().writes).toBe(writes);
    await credits.turn();
    expect(store.health().writes).toBe(writes + 1);
    expect(await balance(account)).toMatchObject({ spent: 60 });
  });

  test('ten credits over four gateways are exactly ten searches', async () => {
    const account = await givenAccount(store, { credits: 10 });
    const four = [gateway(), gateway(), gateway(), gateway()];
    const held = await turning(
      Promise.all(
        Array.from({ length: 100 }, (_, index) => search(four[index % 4] ?? gateway(), account)),
      ),
    );
    expect(held.filter(isHeld)).toHaveLength(10);
    for (const refused of held.filter((one) => !isHeld(one))) {
      expect(refused).toMatchObject({ code: 'insufficient_credits' });
    }
    for (const one of four) await one.turn();
    expect(await balance(account)).toEqual({ available: 0, held: 0, spent: 10 });
  });

  test('a look again that finds nothing left to do does not stop the turns', async () => {
    const account = await givenAccount(store, { credits: 1 });
    let during: (() => void) | undefined;
    const write: Store['write'] = async (work) => {
      const done = await store.write(work);
      during?.();
      return done;
    };
    let lookAgain = (): void => undefined;
    const sleep = () => new Promise<void>((resolve) => (lookAgain = resolve));
    const credits = gateway({ ...store, write }, { ...clock, sleep });
    // The second search comes while the first one's turn is under way, so its lease is looked at again.
    const second = new Promise<Held>((resolve) => {
      during = () => {
        during = undefined;
        resolve(search(credits, account));
      };
    });
    expect(isHeld(await search(credits, account))).toBe(true);
    expect(isHeld(await second)).toBe(false);
    await credits.settle(account);
    lookAgain();
    await new Promise((resolve) => setImmediate(resolve));
    const other = await givenAccount(store, { credits: 1 });
    expect(isHeld(await search(credits, other))).toBe(true);
  });

  test('what one gateway has in store is given to another that needs the last of it', async () => {
    const account = await givenAccount(store, { credits: 150 });
    const [rich, poor] = [gateway(), gateway()];
    await warmUp(rich, account);
    const { held: stored = 0 } = await balance(account);
    expect(stored).toBeGreaterThan(10);
    const held = await turning(
      Promise.all(Array.from({ length: 200 }, () => search(poor, account))),
    );
    expect(held.filter(isHeld)).toHaveLength(130);
    expect(await holdOne(rich, account)).toMatchObject({ code: 'insufficient_credits' });
  });

  test('a key’s budget is exact over gateways as well', async () => {
    const account = await givenAccount(store, { credits: 1000 });
    const { id } = await openKeys(store, clock, realRandom).create(account, null, {
      name: 'small',
      monthlyBudget: 25,
    });
    const caller = callerOf(account, { id, monthlyBudget: 25 });
    const two = [gateway(), gateway()];
    let held = 0;
    const work = async (credits: Credits) => {
      for (let searches = 0; searches < 20; searches += 1) {
        const hold = await credits.hold(caller, realRandom.uuid());
        if (!isHeld(hold)) continue;
        // Some fail, and do not count.
        if (searches % 5 === 4) await credits.release(hold);
        else {
          held += 1;
          await credits.spend(hold);
        }
      }
    };
    await turning(Promise.all(two.map(work)));
    expect(held).toBe(25);
    for (const one of two) await one.turn();
    expect(await balance(account)).toMatchObject({ spent: 25 });
  });

  test('a lease that nobody uses is given back', async () => {
    const account = await givenAccount(store, { credits: 1000 });
    const credits = gateway();
    await warmUp(credits, account);
    clock.move(5000);
    await credits.turn();
    expect(await balance(account)).toEqual({ available: 980, held: 0, spent: 20 });
  });

  test('a dead gateway’s lease comes back, and only what it had not booked goes uncharged', async () => {
    const account = await givenAccount(store, { credits: 100 });
    const dead = gateway();
    await warmUp(dead, account);
    const { spent = 0, held = 0 } = await balance(account);
    await search(dead, account);
    gateways = [];
    const living = gateway();
    // Nobody can tell whether the other one lives: that is no refusal for good.
    const waiting = Promise.all(
      Array.from({ length: 100 - spent }, () => holdOne(living, account)),
    );
    for (let waited = 0; waited < 25; waited += 1) {
      clock.move(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const unsure = (await turning(waiting)).filter((one) => !isHeld(one));
    expect(unsure).toHaveLength(held);
    expect(unsure[0]).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 });
    await lapse(account);
    expect(await living.releaseLapsed()).toBeGreaterThanOrEqual(1);
    const rest = await Promise.all(Array.from({ length: held }, () => holdOne(living, account)));
    expect(rest.filter(isHeld)).toHaveLength(held);
  });

  test('a gateway that is alone on its database takes back at its start what another had', async () => {
    const account = await givenAccount(store, { credits: 100 });
    await warmUp(gateway(), account);
    gateways = [];
    const alone = gateway({ ...store, isExclusive: true });
    expect(await alone.releaseLapsed()).toBeGreaterThanOrEqual(1);
    expect(await balance(account)).toMatchObject({ available: 80, held: 0 });
  });

  test('a booking whose commit nobody heard of is charged once', async () => {
    const account = await givenAccount(store, { credits: 100 });
    let fails = 0;
    const deaf: Store = {
      ...store,
      write: async (work) => {
        const result = await store.write(work);
        if (fails-- > 0) throw new StoreUnavailable('unreachable');
        return result;
      },
    };
    const credits = gateway(deaf);
    await warmUp(credits, account);
    for (const times of [1, 3]) {
      await search(credits, account);
      fails = times;
      for (let turns = 0; turns <= times; turns += 1) {
        await credits.turn();
        if (turns < times) await search(credits, account);
      }
    }
    fails = 0;
    await credits.turn();
    expect(await balance(account)).toMatchObject({ spent: 26 });
  });

  test('nothing is handed out while what was spent cannot be booked for a second', async () => {
    const account = await givenAccount(store, { credits: 1000 });
    let isAway = false;
    const away: Store = {
      ...store,
      write: (work) =>
        isAway ? Promise.reject(new StoreUnavailable('unreachable')) : store.write(work),
    };
    const credits = gateway(away);
    await warmUp(credits, account);
    const running = await holdOne(credits, account);
    isAway = true;
    await search(credits, account);
    clock.move(749);
    expect(isHeld(await search(credits, account))).toBe(true);
    clock.move(1);
    await expect(holdOne(credits, account)).rejects.toThrow(StoreUnavailable);
    // What ran before is answered and charged, however long the database is away.
    if (!isHeld(running)) throw new Error('not held');
    expect(await credits.spend(running)).toBe('spent');
    isAway = false;
    await credits.turn();
    await credits.turn();
    expect(await balance(account)).toMatchObject({ spent: 23 });
    expect(isHeld(await holdOne(credits, account))).toBe(true);
  });

  test('a lease that is renewed and given back at the same moment leaves the books right', async () => {
    const account = await givenAccount(store, { credits: 1000 });
    const [holder, other] = [gateway(), gateway()];
    await warmUp(holder, account);
    for (let rounds = 0; rounds < 20; rounds += 1) {
      clock.move(2500);
      await Promise.all([search(holder, account), search(holder, account)]);
      await holder.turn();
      await lapse(account);
      clock.move(2500);
      await Promise.all([holder.turn(), other.releaseLapsed()]);
      expect(await other.reconcile()).toEqual([]);
    }
  });

  test('a gateway that slept through its lease charges what it can, and never more than there is', async () => {
    const account = await givenAccount(store, { credits: 60 });
    const asleep = gateway();
    await warmUp(asleep, account);
    const running = await holdOne(asleep, account);
    await lapse(account);
    const other = gateway();
    await other.releaseLapsed();
    const taken = await Promise.all(Array.from({ length: 40 }, () => search(other, account)));
    expect(taken.filter(isHeld)).toHaveLength(40);
    await other.turn();
    clock.move(10_000);
    if (!isHeld(running)) throw new Error('not held');
    await asleep.spend(running);
    await turning(expectRefused(asleep, account));
    expect(await balance(account)).toEqual({ available: 0, held: 0, spent: 60 });
  });

  /** Time passes for everybody's leases of an account, as the database sees it. */
  const lapse = (account: string) =>
    store.write((tx: Kysely<AccountTables>) =>
      tx
        .updateTable('credit_leases')
        .set({ lapses_at: 0 })
        .where('account_id', '=', account)
        .execute(),
    );

  const expectRefused = async (credits: Credits, account: string) =>
    expect(await holdOne(credits, account)).toMatchObject({ code: 'insufficient_credits' });
});
