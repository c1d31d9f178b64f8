import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import { paymentsInFlight, revenueByDay } from '../../../gateway/customers/credits/revenue.js';
import { toCsv } from '../../../gateway/customers/usage/csv.js';
import type { PeopleTables } from '../../../gateway/customers/people/schema.js';
import { usageRecorder, type UsageRecorder } from '../../../gateway/customers/usage/recorder.js';
import type { UsageTables } from '../../../gateway/customers/usage/schema.js';
import { USAGE_DIMENSIONS, usageReport } from '../../../gateway/customers/usage/report.js';
import { openKeys } from '../../../gateway/customers/keys/keys.js';
import { MIGRATIONS } from '../../../gateway/wiring/migrations.js';
import { openStore } from '../../../gateway/ground/store/open.js';
import type { Store } from '../../../gateway/ground/store/store.js';
import { givenAccount, handClock } from '../../support/accounts.js';
import { ENGINES, engineOf } from '../../support/engines.js';
import { realClock, realRandom, silentLog } from '../../support/ports.js';

describe.each(ENGINES)('on %s', (name) => {
  const engine = engineOf(name);
  let store: Store;
  let clock: ReturnType<typeof handClock>;
  let recorder: UsageRecorder;
  let account: string;
  let ownKey: { id: string; name: string; createdBy: string | null };

  beforeAll(async () => {
    await engine.start();
    store = await openStore(
      { location: engine.location(), migrations: MIGRATIONS },
      { clock: realClock, random: realRandom, onFailed: () => undefined },
    );
  });
  afterAll(async () => {
    await store.close();
    await engine.stop();
  });
  beforeEach(async () => {
    clock = handClock(Date.UTC(2026, 10, 21, 23, 30));
    recorder = usageRecorder({ store, clock, log: silentLog }, { keepsRequests: true });
    account = await givenAccount(store);
    const { id } = await openKeys(store, clock, realRandom).create(account, null, { name: 'k' });
    ownKey = { id, name: 'k', createdBy: null };
  });

  const record = (
    outcome: 'ok' | 'upstream_error',
    latencyMs = 7,
    key: { id: string; name: string; createdBy: string | null } = ownKey,
  ) => {
    const requestId = realRandom.uuid();
    const request = { query: 'a query', maxResults: 10, maxDescriptionLength: 3000 };
    const credits = outcome === 'ok' ? 1 : 0;
    recorder.record({ requestId, accountId: account, key, outcome, latencyMs, credits, request });
    return requestId;
  };
  const range = { from: new Date('2026-11-21'), to: new Date('2026-11-23') };

  const keptQueries = async () => {
    const rows = await store.read((db: Kysely<UsageTables>) =>
      db.selectFrom('requests').select('query').where('account_id', '=', account).execute(),
    );
    return rows.map(({ query }) => query).sort();
  };
  const recordQuery = (query: string, requestId: string = realRandom.uuid()) => {
    const request = { query, maxResults: 10, maxDescriptionLength: 3000 };
    const searched = { accountId: account, key: ownKey, outcome: 'ok', credits: 1 } as const;
    recorder.record({ requestId, latencyMs: 7, request, ...searched });
  };

  test('a query with U+0000 is kept as U+FFFD, and what others asked beside it', async () => {
    for (const query of ['first', '\u0000', 'a\u0000b', 'last']) recordQuery(query);
    await recorder.flush();
    expect(await keptQueries()).toEqual(['a\uFFFDb', 'first', 'last', '\uFFFD'].sort());
    const report = await usageReport(store).read(account, range, 'day');
    expect(report).toMatchObject([{ searches: 4, credits: 4 }]);
  });

  test('a row that the database refuses is left out, and no other', async () => {
    // An id that is none stands for whatever a database may refuse.
    const requestId = null as unknown as string;
    for (const index of [1, 2, 3]) recordQuery(`good ${index}`);
    recordQuery('bad', requestId);
    for (const index of [4, 5]) recordQuery(`good ${index}`);
    await recorder.flush();
    expect(await keptQueries()).toEqual([1, 2, 3, 4, 5].map((index) => `good ${index}`));
  });

  test('searches are counted by every dimension, over several flushes and past midnight', async () => {
    record('ok');
    record('ok', 900);
    await recorder.flush();
    record('ok');
    record('upstream_error');
    clock.move(3600 * 1000);
    record('ok');
    await recorder.flush();
    const report = usageReport(store);
    const read = async (by: (typeof USAGE_DIMENSIONS)[number]) =>
      (await report.read(account, range, by)).map((row) => [
        row.name,
        row.searches,
        row.refused,
        row.credits,
      ]);
    expect(await read('day')).toEqual([
      ['2026-11-21', 4, 1, 3],
      ['2026-11-22', 1, 0, 1],
    ]);
    expect(await read('hour')).toEqual([
      ['2026-11-21T23:00:00.000Z', 4, 1, 3],
      ['2026-11-22T00:00:00.000Z', 1, 0, 1],
    ]);
    expect(await read('outcome')).toEqual([
      ['ok', 4, 0, 4],
      ['upstream_error', 1, 1, 0],
    ]);
    expect(await read('latency')).toEqual([
      ['<= 10 ms', 4, 1, 3],
      ['<= 1000 ms', 1, 0, 1],
    ]);
    expect(await read('key')).toEqual([['k', 5, 1, 4]]);
    expect(await read('member')).toEqual([['operator', 5, 1, 4]]);
  });

  test('a tool client counts by its name and its person, also when its connection has ended', async () => {
    const id = realRandom.uuid();
    await store.write((tx: Kysely<PeopleTables>) =>
      sql`insert into people (id, name, email, "emailVerified", "createdAt", "updatedAt")
        values (${id}, 'Ada', ${`${id}@example.org`}, ${name === 'PostgreSQL' ? true : 1n},
        '2026-11-21T00:00:00.000Z', '2026-11-21T00:00:00.000Z')`.execute(tx),
    );
    const connection = { id: 'oauth:gone', name: 'Editor', createdBy: id };
    const requestId = record('ok', 7, connection);
    await recorder.flush();
    const report = usageReport(store);
    expect((await report.read(account, range, 'key'))[0]?.name).toBe('Editor');
    expect((await report.read(account, range, 'member'))[0]?.name).toBe('Ada');
    expect((await report.inspect(account, requestId))?.keyName).toBe('Editor');
  });

  test('an account sees nothing of another', async () => {
    const id = record('ok');
    await recorder.flush();
    const stranger = await givenAccount(store);
    const report = usageReport(store);
    for (const by of USAGE_DIMENSIONS) expect(await report.read(stranger, range, by)).toEqual([]);
    expect(await report.inspect(stranger, id)).toBeUndefined();
    expect(await report.requests(stranger, { count: 10 })).toEqual([]);
    expect(await report.inspect(account, id)).toMatchObject({ query: 'a query', credits: 1 });
  });

  test('what could not be written is written by the next flush', async () => {
    let isDown = true;
    const down: Store = {
      ...store,
      write: (work) => (isDown ? Promise.reject(new Error('down')) : store.write(work)),
    };
    const shaky = usageRecorder({ store: down, clock, log: silentLog }, { keepsRequests: true });
    const requestId = realRandom.uuid();
    const spent = { outcome: 'ok', latencyMs: 1, credits: 1 } as const;
    shaky.record({ requestId, accountId: account, key: ownKey, ...spent });
    await shaky.flush();
    isDown = false;
    await shaky.flush();
    const [row] = await usageReport(store).read(account, range, 'day');
    expect(row).toMatchObject({ searches: 1, credits: 1 });
  });

  test('single requests are kept for seven days, their counts for good', async () => {
    const id = record('ok');
    await recorder.flush();
    clock.move(7 * 24 * 3600 * 1000);
    await recorder.prune();
    expect(await usageReport(store).inspect(account, id)).toBeDefined();
    clock.move(1);
    await recorder.prune();
    expect(await usageReport(store).inspect(account, id)).toBeUndefined();
    expect(await usageReport(store).read(account, range, 'day')).toHaveLength(1);
  });

  test('revenue by day tells paid searches from top-ups', async () => {
    const settledAt = Date.UTC(2026, 10, 20, 12);
    await store.write(async (tx: Kysely<Books>) => {
      const [search, topUp, open] = [
        payment('50', settledAt),
        payment('5000000', settledAt),
        payment('50', null),
      ];
      await tx.insertInto('payments').values([search, topUp, open]).execute();
      const order = { credits: 100_000, amount: 5_000_000, created_at: settledAt };
      await tx
        .insertInto('top_ups')
        .values({ request_id: topUp.request_id, account_id: account, ...order })
        .execute();
    });
    expect(await revenueByDay(store, clock.now(), 30)).toEqual([
      { day: '2026-11-20', payments: 50n, topUps: 5_000_000n, packs: 0n },
    ]);
    expect(await paymentsInFlight(store)).toBe(1);
  });
});

interface Books {
  payments: ReturnType<typeof payment>;
  top_ups: {
    request_id: string;
    account_id: string;
    credits: number;
    amount: number;
    created_at: number;
  };
}

function payment(value: string, settledAt: number | null) {
  const id = realRandom.uuid();
  return {
    id,
    chain_id: 8453,
    asset: '0x',
    payer: '0x',
    nonce: id,
    pay_to: '0x',
    value,
    valid_after_seconds: 0,
    valid_before_seconds: 1,
    signature: '0x',
    binding: '0x',
    request_id: id,
    owner: 'x',
    reserved_at: 0,
    settled_at: settledAt,
  };
}

test('a table holds names as they are, and nothing that a spreadsheet would run', () => {
  const rows = [
    ['name', 'searches'],
    ['=HYPERLINK("http://evil")', 1],
    ['a,b "c"\nd', 2],
    ['-1+1', 3],
  ];
  expect(toCsv(rows)).toBe(
    'name,searches\r\n"\'=HYPERLINK(""http://evil"")",1\r\n"a,b ""c""\nd",2\r\n\'-1+1,3\r\n',
  );
});
