/** Rates over several gateways on one database: what no schedule of requests and turns gets past. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Kysely, sql } from 'kysely';
import { memoryLimits } from '../../../gateway/customers/limits/limits.js';
import { LIMIT_MIGRATIONS, type LimitTables } from '../../../gateway/customers/limits/schema.js';
import { sharedLimits, type SharedLimits } from '../../../gateway/customers/limits/shared.js';
import { openStore } from '../../../gateway/ground/store/open.js';
import { StoreUnavailable, type Store } from '../../../gateway/ground/store/store.js';
import { handClock } from '../../support/accounts.js';
import { ENGINES, engineOf } from '../../support/engines.js';
import { realClock, realRandom } from '../../support/ports.js';

const caller = (id: string, ratePerSecond: number, keyRate: number | null = null) => ({
  account: { id, ratePerSecond },
  key: { id: `k-${id}`, ratePerSecond: keyRate },
});

/** The most that any second holds. */
const densest = (times: readonly number[]) =>
  Math.max(...times.map((start) => times.filter((at) => at >= start && at < start + 1000).length));

describe.each(ENGINES)('on %s', (name) => {
  const engine = engineOf(name);
  const clock = handClock();
  let store: Store;
  let gateways: SharedLimits[];
  beforeAll(async () => {
    await engine.start();
    store = await openStore(
      { location: engine.location(), migrations: LIMIT_MIGRATIONS },
      { clock: realClock, random: realRandom, onFailed: () => undefined },
    );
    gateways = Array.from({ length: 4 }, () => open());
  });
  afterAll(async () => {
    await store.close();
    await engine.stop();
  });

  const open = (on: Store = store) =>
    sharedLimits({ store: on, clock, gateway: realRandom.uuid() }, memoryLimits(clock));
  const at = (index: number): SharedLimits => {
    const gateway = gateways[index % gateways.length];
    if (!gateway) throw new Error('no gateway yet');
    return gateway;
  };
  const turns = () => Promise.all(gateways.map((one) => one.turn()));
  const leasedSlots = async (subject: string) => {
    const rows = await store.read((db: Kysely<LimitTables>) =>
      db.selectFrom('rate_leases').select('slots').where('subject', '=', subject).execute(),
    );
    return rows.reduce((sum, { slots }) => sum + Number(slots), 0);
  };
  /** As many requests at once, spread over the first gateways. */
  const burst = async (id: string, limit: number, requests: number, over = 4) => {
    const answers = await Promise.all(
      Array.from({ length: requests }, (_, index) => at(index % over).admit(caller(id, limit))),
    );
    return answers.filter(({ kind }) => kind === 'admitted').length;
  };

  test('a burst at four gateways is one burst: as many as the rate are admitted', async () => {
    expect(await burst('burst', 20, 20)).toBe(20);
    expect(await burst('burst', 20, 100)).toBe(0);
    const refused = await at(0).admit(caller('burst', 20));
    expect(refused).toMatchObject({ refusal: { code: 'rate_limited', retryAfterSeconds: 1 } });
    clock.move(1000);
    expect(await burst('burst', 20, 20)).toBe(20);
  });

  test('a burst at one gateway gets the whole rate, and another one the next second', async () => {
    expect(await burst('whole', 50, 200, 1)).toBe(50);
    expect((await at(1).admit(caller('whole', 50))).kind).toBe('limited');
    clock.move(1000);
    // The second one asks the first, which gives back what is free.
    await turns();
    await turns();
    await Promise.all(Array.from({ length: 50 }, () => at(1).admit(caller('whole', 50))));
    expect(await leasedSlots('whole')).toBeLessThanOrEqual(50);
    clock.move(1000);
    await turns();
    expect((await at(1).admit(caller('whole', 50))).kind).toBe('admitted');
  });

  test('no schedule of requests and turns over four gateways gets more than the limit into a second', async () => {
    const step = fc.record({
      gateway: fc.nat(3),
      afterMs: fc.oneof(fc.nat(40), fc.nat(700)),
      act: fc.constantFrom('ask', 'ask', 'ask', 'ask', 'burst', 'turn', 'look'),
    });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.array(step, { minLength: 10, maxLength: 80 }),
        async (limit, schedule) => {
          const id = `schedule-${(runs += 1)}`;
          const admitted: number[] = [];
          const ask = async (gateway: number) => {
            const answer = await at(gateway).admit(caller(id, limit));
            if (answer.kind === 'admitted') admitted.push(clock.monotonicMs());
          };
          for (const { gateway, afterMs, act } of schedule) {
            clock.move(afterMs);
            if (act === 'ask') await ask(gateway);
            else if (act === 'turn') await at(gateway).turn();
            else if (act === 'look') await turns();
            else
              await Promise.all(Array.from({ length: 2 * limit }, (_, one) => ask(gateway + one)));
          }
          expect(densest(admitted)).toBeLessThanOrEqual(limit);
          expect(await leasedSlots(id)).toBeLessThanOrEqual(limit);
        },
      ),
      { numRuns: name === 'SQLite' ? 60 : 5 },
    );
  });

  test('a busy account’s requests write nothing', async () => {
    const busy = caller('busy', 1000);
    for (let requests = 0; requests < 200; requests += 1) {
      expect((await at(0).admit(busy)).kind).toBe('admitted');
      clock.move(10);
      if (requests % 25 === 0) await at(0).turn();
    }
    const { writes } = store.health();
    for (let requests = 0; requests < 10; requests += 1) {
      expect((await at(0).admit(busy)).kind).toBe('admitted');
    }
    expect(store.health().writes).toBe(writes);
  });

  test('requests that wait together with many others are refused only where the rate is used up', async () => {
    const answers = await Promise.all(
      Array.from({ length: 300 }, async (_, index) => {
        for (let turns = 0; turns < index % 7; turns += 1) {
          await new Promise((resolve) => setImmediate(resolve));
        }
        return at(index % 2).admit(caller('crowd', 10_000));
      }),
    );
    expect(answers.filter(({ kind }) => kind === 'limited')).toEqual([]);
  });

  test('two gateways that both want more than the rate get about half of it each', async () => {
    const [one, other] = [0, 0].map(() => ({ admitted: 0 }));
    const both = [one, other];
    for (let ms = 0; ms < 8000; ms += 40) {
      clock.move(40);
      for (const [index, counts] of both.entries()) {
        const answer = await at(index).admit(caller('both', 20));
        if (answer.kind === 'admitted' && counts && ms >= 3000) counts.admitted += 1;
      }
      if (ms % 200 === 0) await turns();
    }
    const [first = 0, second = 0] = both.map((counts) => counts?.admitted ?? 0);
    // Five seconds of 20, and what is left of the second before.
    expect(first + second).toBeLessThanOrEqual(6 * 20);
    expect(first + second).toBeGreaterThan(4.5 * 20);
    expect(Math.min(first, second)).toBeGreaterThan(2 * 20);
  });

  test('a key’s own rate is shared as well', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => at(index).admit(caller('keyed', 20, 3))),
    );
    expect(answers.filter(({ kind }) => kind === 'admitted')).toHaveLength(3);
    expect(await leasedSlots('key k-keyed')).toBe(3);
  });

  test('a lower limit counts from the next request on, a higher one too', async () => {
    expect(await at(0).admit(caller('changed', 50))).toMatchObject({ rate: { limit: 50 } });
    clock.move(1000);
    expect(await burst('changed', 2, 10, 1)).toBe(2);
    clock.move(1000);
    expect(await burst('changed', 30, 100, 1)).toBe(30);
  });

  test('a dead gateway’s share comes back when its lease has lapsed', async () => {
    const dead = open();
    for (let requests = 0; requests < 8; requests += 1) await dead.admit(caller('dead', 8));
    expect(await leasedSlots('dead')).toBe(8);
    expect((await at(0).admit(caller('dead', 8))).kind).toBe('limited');
    clock.move(100);
    expect(await at(0).returnLapsed()).toBe(0);
    await store.write((tx: Kysely<LimitTables>) =>
      tx.updateTable('rate_leases').set({ lapses_at: 0 }).where('subject', '=', 'dead').execute(),
    );
    expect(await at(0).returnLapsed()).toBe(1);
    expect((await at(0).admit(caller('dead', 8))).kind).toBe('admitted');
  });

  test('nothing is admitted by a lease that could not be renewed, and no slot is lost by a commit that nobody heard of', async () => {
    let fate: 'kept' | 'unheard' | 'away' = 'kept';
    const faulty: Store = {
      ...store,
      write: async (work) => {
        if (fate === 'away') throw new StoreUnavailable('unreachable');
        const result = await store.write(work);
        if (fate === 'unheard') throw new StoreUnavailable('unreachable');
        return result;
      },
    };
    const gateway = open(faulty);
    fate = 'unheard';
    await expect(gateway.admit(caller('unheard', 10))).rejects.toThrow(StoreUnavailable);
    fate = 'kept';
    let admitted = 0;
    for (let requests = 0; requests < 20; requests += 1) {
      if ((await gateway.admit(caller('unheard', 10))).kind === 'admitted') admitted += 1;
    }
    expect(admitted).toBe(10);
    fate = 'away';
    clock.move(6000);
    await expect(gateway.admit(caller('unheard', 10))).rejects.toThrow(StoreUnavailable);
  });

  test('the pool of a rate is the sum of its leases', async () => {
    const { rows } = await store.read(async (db: Kysely<LimitTables>) =>
      sql<{ wrong: bigint }>`select cast(count(*) as bigint) as wrong from rate_pools
        where leased <> (select coalesce(sum(slots), 0) from rate_leases
          where rate_leases.subject = rate_pools.subject)`.execute(db),
    );
    expect(Number(rows[0]?.wrong)).toBe(0);
  });
});
