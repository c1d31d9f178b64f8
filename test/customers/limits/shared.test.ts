import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql, type Kysely } from 'kysely';
import { memoryLimits, type Limits } from '../../../gateway/customers/limits/limits.js';
import { LIMIT_MIGRATIONS } from '../../../gateway/customers/limits/schema.js';
import { sharedLimits } from '../../../gateway/customers/limits/shared.js';
import { openStore } from '../../../gateway/ground/store/open.js';
import type { Store } from '../../../gateway/ground/store/store.js';
import { realClock, realRandom } from '../../support/ports.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';

interface AuditTables {
  audit: { subject: string; used_at: bigint };
}

let server: TestPostgres;
const stores: Store[] = [];
const gateways: Limits[] = [];
const gatewayOf = (index: number): Limits => {
  const gateway = gateways[index % 2];
  if (!gateway) throw new Error('no gateway yet');
  return gateway;
};

/** Two gateways on one database that writes down every admission. */
beforeAll(async () => {
  server = await startPostgres();
  for (let gateway = 0; gateway < 2; gateway++) {
    const store = await openStore(
      { location: server.url, migrations: LIMIT_MIGRATIONS },
      { clock: realClock, random: realRandom, onFailed: () => undefined },
    );
    stores.push(store);
    gateways.push(sharedLimits(store, realClock, memoryLimits(realClock)));
  }
  await stores[0]?.write(async (tx: Kysely<AuditTables>) => {
    await sql`create table audit (subject text, used_at bigint)`.execute(tx);
    await sql`create function audit() returns trigger language plpgsql as $$
      begin insert into audit values (new.subject, new.used_at); return new; end $$`.execute(tx);
    await sql`create trigger audit after update on rate_slots
      for each row execute function audit()`.execute(tx);
  });
});
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await server.stop();
});

const caller = (id: string, ratePerSecond: number, keyRate: number | null = null) => ({
  account: { id, ratePerSecond },
  key: { id: `k-${id}`, ratePerSecond: keyRate },
});

const admissions = async (subject: string) => {
  const rows = await stores[0]?.read((db: Kysely<AuditTables>) =>
    db.selectFrom('audit').select('used_at').where('subject', '=', subject).execute(),
  );
  return (rows ?? []).map(({ used_at }) => Number(used_at)).sort((a, b) => a - b);
};

/** How many were admitted, as the database wrote them down; throws where a second holds too many. */
async function admittedWithin(limit: number, subject: string): Promise<number> {
  const times = await admissions(subject);
  expect(densest(times)).toBeLessThanOrEqual(limit);
  return times.length;
}

/** The most that any second holds. */
const densest = (times: readonly number[]) =>
  Math.max(...times.map((start) => times.filter((at) => at >= start && at < start + 1000).length));

const kindsOf = (answers: readonly { readonly kind: string }[], wanted: string) =>
  answers.filter(({ kind }) => kind === wanted).length;

describe('a rate that two gateways share', () => {
  test('no second holds more than the limit, whichever gateway admits', async () => {
    const limit = 25;
    let admitted = 0;
    const worker = async (index: number) => {
      // The rate is there to be used: this ends.
      while (admitted < 3 * limit) {
        const answer = await gatewayOf(index).admit(caller('busy', limit));
        if (answer.kind === 'admitted') admitted += 1;
        await realClock.sleep((index * 7) % 13);
      }
    };
    await Promise.all(Array.from({ length: 24 }, (_, index) => worker(index)));
    expect(await admittedWithin(limit, 'busy')).toBe(admitted);
  });

  test('no schedule of requests over both gateways gets more than the limit into a second', async () => {
    const requests = fc.array(fc.record({ gateway: fc.nat(1), afterMs: fc.nat(1200) }), {
      minLength: 10,
      maxLength: 60,
    });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 12 }), requests, async (limit, schedule) => {
        const id = `schedule-${(runs += 1)}`;
        const answers = await Promise.all(
          schedule.map(async ({ gateway, afterMs }) => {
            await realClock.sleep(afterMs);
            return gatewayOf(gateway).admit(caller(id, limit));
          }),
        );
        expect(await admittedWithin(limit, id)).toBe(kindsOf(answers, 'admitted'));
      }),
      { numRuns: 6, endOnFailure: true },
    );
  });

  test('a burst at both is one burst', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => gatewayOf(index).admit(caller('burst', 20))),
    );
    const admitted = await admittedWithin(20, 'burst');
    expect(admitted).toBeGreaterThanOrEqual(20);
    expect(kindsOf(answers, 'admitted')).toBe(admitted);
    const refused = answers.find((answer) => answer.kind === 'limited');
    expect(refused).toMatchObject({ refusal: { code: 'rate_limited', retryAfterSeconds: 1 } });
  });

  test('a key’s own rate is shared as well', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => gatewayOf(index).admit(caller('keyed', 20, 3))),
    );
    const admitted = await admittedWithin(3, 'key k-keyed');
    expect(admitted).toBeGreaterThanOrEqual(3);
    expect(kindsOf(answers, 'admitted')).toBe(admitted);
  });

  test('a lower limit counts from the next request on', async () => {
    const one = gatewayOf(0);
    expect(await one.admit(caller('lowered', 50))).toMatchObject({ rate: { limit: 50 } });
    await realClock.sleep(1100);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => one.admit(caller('lowered', 2))),
    );
    expect(kindsOf(answers, 'admitted')).toBeGreaterThanOrEqual(2);
    const [, ...afterwards] = await admissions('lowered');
    expect(afterwards).toHaveLength(kindsOf(answers, 'admitted'));
    expect(densest(afterwards)).toBeLessThanOrEqual(2);
  });
});
