import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type Kysely, sql } from 'kysely';
import { createLedger } from '../../../gateway/money/ledger/ledger.js';
import { LEDGER_MIGRATIONS } from '../../../gateway/money/ledger/migrations.js';
import type { Migration } from '../../../gateway/ground/store/migrations.js';
import type { Store } from '../../../gateway/ground/store/store.js';
import { insist } from '../../support/insist.js';
import { BINDING, someAuthorization, someReply } from '../../support/payments.js';
import { realClock, realRandom } from '../../support/ports.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { temporaryStore } from '../../support/stores.js';
import { startTcpRelay } from '../../support/tcp-relay.js';
import { until } from '../../support/until.js';

interface Tables {
  purse: { name: string; coins: bigint; skin: Uint8Array | null };
}

const PURSE: Migration = {
  name: 'test-001-purse',
  statements: ({ int, bytes, strict }) => [
    `create table purse (name text not null primary key, coins ${int} not null, skin ${bytes}) ${strict}`,
  ],
};

let server: TestPostgres;
const opened: { discard(): Promise<void> }[] = [];
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());
afterEach(async () => {
  for (const { discard } of opened.splice(0)) await discard();
});

async function open(
  migrations: readonly Migration[] = [PURSE, ...LEDGER_MIGRATIONS],
  url = server.url,
) {
  const one = await temporaryStore(migrations, url);
  opened.push(one);
  return one.store;
}

const fill = (store: Store, name: string, coins: bigint) =>
  store.write((tx: Kysely<Tables>) =>
    tx
      .insertInto('purse')
      .values({ name, coins, skin: Uint8Array.of(1, 0, 255) })
      .execute(),
  );

describe('a PostgreSQL store', () => {
  test('is migrated once by two gateways that start at the same time', async () => {
    const [one, two] = await Promise.all([open(), open()]);
    expect(one.engine).toBe('postgres');
    await fill(two, 'a', 1n);
  });

  test('reads integers as bigint and blobs as bytes', async () => {
    const store = await open();
    await fill(store, 'b', 2n ** 60n + 1n);
    const row = await store.read((db: Kysely<Tables>) =>
      db.selectFrom('purse').selectAll().where('name', '=', 'b').executeTakeFirstOrThrow(),
    );
    expect(row.coins).toBe(2n ** 60n + 1n);
    expect(Uint8Array.from(row.skin ?? [])).toEqual(Uint8Array.of(1, 0, 255));
  });

  test('lets 100 takers of 10 coins take exactly 10, over two gateways', async () => {
    const stores = await Promise.all([open(), open()]);
    const [first] = stores;
    await fill(first, 'c', 10n);
    const take = (store: Store) =>
      store.write(async (tx: Kysely<Tables>) => {
        const { coins } = await tx
          .selectFrom('purse')
          .select('coins')
          .where('name', '=', 'c')
          .executeTakeFirstOrThrow();
        if (coins < 1n) return false;
        await tx
          .updateTable('purse')
          .set({ coins: coins - 1n })
          .where('name', '=', 'c')
          .execute();
        return true;
      });
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, index) => insist(() => take(stores[index % 2] ?? first))),
    );
    expect(results.filter(Boolean)).toHaveLength(10);
  });

  test('outlives a connection that breaks under a query, and asks again', async () => {
    const relay = await startTcpRelay(server.url);
    const url = server.url.replace(new URL(server.url).host, relay.host);
    const [store, other] = [await open(undefined, url), await open()];
    const asked = store.read((db: Kysely<unknown>) => sql`select pg_sleep(5)`.execute(db));
    const running = () =>
      other.read((db: Kysely<unknown>) =>
        sql`select 1 from pg_stat_activity where query = 'select pg_sleep(5)'`.execute(db),
      );
    await until(async () => (await running()).rows.length > 0);
    relay.cut();
    expect((await asked).rows).toHaveLength(1);
    await fill(store, 'again', 1n);
    await store.close();
    await relay.stop();
  });

  test('refuses a database that a newer version has written', async () => {
    await open([PURSE, ...LEDGER_MIGRATIONS, { name: 'test-002-later', statements: () => [] }]);
    await expect(open()).rejects.toThrow(/newer version.*test-002-later/);
    const later = await open([
      PURSE,
      ...LEDGER_MIGRATIONS,
      { name: 'test-002-later', statements: () => [] },
    ]);
    await later.write((tx: Kysely<Tables>) =>
      sql`delete from schema_migrations where name = 'test-002-later'`.execute(tx),
    );
  });

  test('lets the version before work on what it tolerates, beside the new one', async () => {
    const later = {
      name: 'test-003-tolerated',
      isTolerated: true,
      statements: () => ['create table test_novelty (x text)'],
    };
    const [newer, older] = [await open([PURSE, ...LEDGER_MIGRATIONS, later]), await open()];
    await fill(older, 'tolerated', 1n);
    await newer.write(async (tx: Kysely<Tables>) => {
      await sql`drop table test_novelty`.execute(tx);
      await sql`delete from schema_migrations where name = ${later.name}`.execute(tx);
      await sql`delete from schema_tolerated where name = ${later.name}`.execute(tx);
    });
  });

  test('lets one of 200 reservations win, over two gateways', async () => {
    const stores = await Promise.all([open(), open()]);
    const ledgers = stores.map((store, index) =>
      createLedger({ store, clock: realClock, random: realRandom, owner: `gateway-${index}` }),
    );
    const authorization = someAuthorization();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => {
        const ledger = ledgers[index % 2];
        if (!ledger) throw new Error('no ledger');
        return insist(() => ledger.reserve(authorization, BINDING, `request-${index}`));
      }),
    );
    const winners = answers.filter(({ kind }) => kind === 'reserved');
    expect(winners).toHaveLength(1);
    const id = winners[0]?.payment.id ?? '';
    await ledgers[0]?.serve(id, someReply());
    expect(await ledgers[1]?.find(authorization)).toMatchObject({
      status: 'served',
      reply: { contentType: 'application/json' },
    });
  });
});
