/** What a PostgreSQL server may do to those who stand on it; a real one does it here. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type Kysely, sql } from 'kysely';
import pg from 'pg';
import type { Migration } from '../../../gateway/ground/store/migrations.js';
import { openStore } from '../../../gateway/ground/store/open.js';
import type { Store } from '../../../gateway/ground/store/store.js';
import { insist } from '../../support/insist.js';
import { realClock, realRandom } from '../../support/ports.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { startCommitThief } from '../../support/commit-thief.js';
import { startTcpRelay } from '../../support/tcp-relay.js';
import { until } from '../../support/until.js';

interface Tables {
  coins: { id: string; taken: bigint };
}
type Db = Kysely<Tables>;

const COINS: Migration = {
  name: 'test-001-coins',
  statements: ({ int }) => [
    `create table coins (id text not null primary key, taken ${int} not null)`,
  ],
};

let server: TestPostgres;
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  server = await startPostgres({ max_connections: '20', superuser_reserved_connections: '1' });
});
afterAll(() => server.stop());
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  if (isHalted) await start();
});

/** Whether a test that failed has left the server down. */
let isHalted = false;
const halt = async () => {
  await server.halt();
  isHalted = true;
};
const start = async () => {
  await server.start();
  isHalted = false;
};

const STATEMENT_MS = 3000;

async function open(url = server.url, connectionsMax = 4) {
  const changes: string[] = [];
  const store = await openStore(
    {
      location: url,
      migrations: [COINS],
      connectionsMax,
      serving: {
        statementTimeoutMs: STATEMENT_MS,
        lockTimeoutMs: 300,
        onChange: ({ kind }) => changes.push(kind),
      },
    },
    { clock: realClock, random: realRandom, onFailed: () => undefined },
  );
  closing.push(() => store.close());
  return { store, changes };
}

let names = 0;
const coin = () => `coin-${(names += 1)}`;

/** A write that must not happen twice: it counts. */
const take = (store: Store, id: string) =>
  store.write((tx: Db) =>
    tx
      .insertInto('coins')
      .values({ id, taken: 1n })
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet({ taken: sql<bigint>`coins.taken + 1` }),
      )
      .execute(),
  );

const taken = async (store: Store, id: string) => {
  const row = await store.read((db: Db) =>
    db.selectFrom('coins').select('taken').where('id', '=', id).executeTakeFirst(),
  );
  return row?.taken ?? 0n;
};

async function direct(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url });
  client.on('error', () => undefined);
  await client.connect();
  closing.push(() => client.end());
  return client;
}

/** Counts coins without a pause until told to stop: how often each was taken, as it was told. */
function load(store: Store, writers = 6) {
  const told = { done: [] as string[], refused: [] as unknown[] };
  const state = { isOver: false };
  const one = async () => {
    while (!state.isOver) {
      const id = coin();
      await take(store, id).then(
        () => told.done.push(id),
        (error: unknown) => told.refused.push(error),
      );
      await realClock.sleep(5);
    }
  };
  const running = Promise.all(Array.from({ length: writers }, one));
  return {
    told,
    stop: async () => {
      state.isOver = true;
      await running;
    },
  };
}

/** Every write that was answered is there once, and none that was refused is there twice. */
async function expectBooks(store: Store, done: readonly string[]) {
  const rows = await store.read((db: Db) => db.selectFrom('coins').selectAll().execute());
  const counted = new Map(rows.map(({ id, taken: times }) => [id, times]));
  expect(done.filter((id) => counted.get(id) !== 1n)).toEqual([]);
  expect(rows.filter(({ taken: times }) => times !== 1n)).toEqual([]);
}

const unavailable = {
  name: 'StoreUnavailable',
  refusal: { retryAfterSeconds: expect.any(Number) },
};

describe('a server that goes away', () => {
  test.each(['fast', 'kill'] as const)(
    'restarted (%s) under load, it is waited out: writes are there once, and none is refused for good',
    async (how) => {
      const { store, changes } = await open();
      const running = load(store);
      await until(() => running.told.done.length > 20);
      await server.restart(how);
      const before = running.told.done.length;
      await until(() => store.health().ready && running.told.done.length > before + 50);
      await running.stop();
      for (const error of running.told.refused) expect(error).toMatchObject(unavailable);
      expect(changes.filter((kind) => kind === 'lost').length).toBeLessThanOrEqual(2);
      await expectBooks(store, running.told.done);
    },
  );

  test('gone for long, it is told within seconds, and who comes then is refused at once', async () => {
    const { store, changes } = await open();
    await halt();
    await until(() => !store.health().ready);
    expect(store.health().problem).toEqual(expect.any(String));
    await expect(take(store, coin())).rejects.toMatchObject(unavailable);
    await expect(take(store, coin())).rejects.toMatchObject({ reason: 'unreachable' });
    await expect(taken(store, 'none')).rejects.toMatchObject({ reason: 'unreachable' });
    await start();
    await until(() => store.health().ready);
    const id = coin();
    await take(store, id);
    expect(await taken(store, id)).toBe(1n);
    expect(changes).toEqual(['lost', 'back']);
  });

  test('frozen, it is told while idle; after it thaws, everything goes on', async () => {
    const { store, changes } = await open();
    const first = coin();
    await take(store, first);
    server.freeze();
    try {
      await until(() => !store.health().ready);
      await expect(take(store, coin())).rejects.toMatchObject(unavailable);
    } finally {
      server.thaw();
    }
    await until(() => store.health().ready);
    await take(store, coin());
    expect(await taken(store, first)).toBe(1n);
    expect(changes).toEqual(['lost', 'back']);
  });

  test('frozen under load for longer than a statement may take, it loses and doubles nothing', async () => {
    const { store } = await open();
    const running = load(store);
    await until(() => running.told.done.length > 20);
    server.freeze();
    await until(() => running.told.refused.length > 0);
    server.thaw();
    const before = running.told.done.length;
    await until(() => store.health().ready && running.told.done.length > before + 50);
    await running.stop();
    for (const error of running.told.refused) expect(error).toMatchObject(unavailable);
    await expectBooks(store, running.told.done);
  });
});

describe('a network that fails', () => {
  test('cuts connections under load: writes go on over others, once each', async () => {
    const relay = await startTcpRelay(server.url);
    closing.push(() => relay.stop());
    const { store } = await open(server.url.replace(/127\.0\.0\.1:\d+/, relay.host));
    const running = load(store);
    for (let cuts = 1; cuts <= 10; cuts += 1) {
      const before = running.told.done.length;
      await until(() => running.told.done.length > before + 10);
      relay.cut();
    }
    await running.stop();
    for (const error of running.told.refused) expect(error).toMatchObject(unavailable);
    await expectBooks(store, running.told.done);
  });

  test('swallows every answer: told within seconds, and connections from before are not used again', async () => {
    const relay = await startTcpRelay(server.url);
    closing.push(() => relay.stop());
    const { store } = await open(server.url.replace(/127\.0\.0\.1:\d+/, relay.host));
    await Promise.all(Array.from({ length: 8 }, () => take(store, coin())));
    relay.isSilent = true;
    await until(() => !store.health().ready);
    relay.isSilent = false;
    await until(() => store.health().ready);
    await take(store, coin());
  });
});

describe('a commit that is not answered', () => {
  const openOver = async (thief: { url: string; stop(): Promise<void> }) => {
    closing.push(() => thief.stop());
    return (await open(thief.url)).store;
  };

  test('and happened is told as done, once', async () => {
    const thief = await startCommitThief(server.url);
    const store = await openOver(thief);
    const id = coin();
    thief.stealNext('answer');
    await take(store, id);
    expect(thief.stolen()).toBe(1);
    expect(await taken(store, id)).toBe(1n);
  });

  test('and never arrived is done again, once', async () => {
    const thief = await startCommitThief(server.url);
    const store = await openOver(thief);
    const id = coin();
    thief.stealNext('question');
    await take(store, id);
    expect(thief.stolen()).toBe(1);
    expect(await taken(store, id)).toBe(1n);
  });

  test('and arrives after it was done again is undone', async () => {
    const thief = await startCommitThief(server.url);
    const store = await openOver(thief);
    // A row of its own at each attempt, so that no lock and no key stands in the way.
    const prefix = coin();
    let attempts = 0;
    const count = async () => {
      const rows = await store.read((db: Db) =>
        db.selectFrom('coins').select('id').where('id', 'like', `${prefix}-%`).execute(),
      );
      return rows.length;
    };
    thief.stealNext('delay');
    await store.write((tx: Db) => {
      attempts += 1;
      return tx
        .insertInto('coins')
        .values({ id: `${prefix}-${attempts}`, taken: 1n })
        .execute();
    });
    expect(attempts).toBe(2);
    expect(await count()).toBe(1);
    expect(await thief.deliver()).toMatch(/could not serialize|terminat/);
    expect(await count()).toBe(1);
  });
});

describe('a server that is busy', () => {
  test('a row that somebody keeps locked refuses its writers, and nobody else', async () => {
    const { store } = await open();
    const [locked, free] = [coin(), coin()];
    await take(store, locked);
    const other = await direct();
    await other.query('begin');
    await other.query('select * from coins where id = $1 for update', [locked]);
    await expect(take(store, locked)).rejects.toMatchObject({ ...unavailable, reason: 'busy' });
    await take(store, free);
    expect(store.health().ready).toBe(true);
    await other.query('rollback');
    await take(store, locked);
    expect(await taken(store, locked)).toBe(2n);
    await store.write((tx: Db) => tx.deleteFrom('coins').where('id', '=', locked).execute());
  });

  test('a statement that takes too long is ended, and its connection serves on', async () => {
    const { store } = await open(server.url, 1);
    const slow = store.read((db: Db) => sql`select pg_sleep(60)`.execute(db));
    await expect(slow).rejects.toMatchObject({ ...unavailable, reason: 'busy' });
    await take(store, coin());
  });

  test('without a free connection it serves over those it has, and gets more when there are', async () => {
    const { store } = await open(server.url, 8);
    await take(store, coin());
    const others: pg.Client[] = [];
    for (;;) {
      const client = new pg.Client({ connectionString: server.url, user: 'test' });
      client.on('error', () => undefined);
      try {
        await client.connect();
        others.push(client);
      } catch {
        break;
      }
    }
    await Promise.all(Array.from({ length: 12 }, () => take(store, coin())));
    expect(store.health().ready).toBe(true);
    for (const client of others) await client.end();
    await Promise.all(Array.from({ length: 12 }, () => take(store, coin())));
  });

  test('a gateway that stops in the middle of a write does not keep its locks', async () => {
    const { store } = await open();
    const id = coin();
    await take(store, id);
    let attempts = 0;
    const stopped = store.write(async (tx: Db) => {
      attempts += 1;
      await tx
        .updateTable('coins')
        .set({ taken: sql<bigint>`taken + 1` })
        .where('id', '=', id)
        .execute();
      if (attempts === 1) await realClock.sleep(STATEMENT_MS * 3);
    });
    await until(() => attempts === 1);
    const { store: other } = await open();
    await insist(() => take(other, id));
    expect(attempts).toBe(1);
    // It wakes, finds that it was undone, and does it again.
    await stopped;
    expect(attempts).toBe(2);
    expect(await taken(store, id)).toBe(3n);
  });
});

describe('after a failover', () => {
  test('a server that only follows is no place to write: told, and left', async () => {
    const { store } = await open();
    const id = coin();
    await take(store, id);
    const other = await direct();
    await other.query('alter system set default_transaction_read_only = on');
    await other.query('select pg_reload_conf()');
    await until(async () =>
      take(store, coin()).then(
        () => false,
        (error: unknown) => {
          expect(error).toMatchObject(unavailable);
          return true;
        },
      ),
    );
    await until(() => !store.health().ready);
    await other.query('set default_transaction_read_only = off');
    await other.query('alter system reset default_transaction_read_only');
    await other.query('select pg_reload_conf()');
    await until(() => store.health().ready);
    await take(store, id);
    expect(await taken(store, id)).toBe(2n);
    await store.write((tx: Db) => tx.deleteFrom('coins').where('id', '=', id).execute());
  });
});
