import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Kysely } from 'kysely';
import { openCredits } from '../../../gateway/customers/credits/credits.js';
import { openKeys } from '../../../gateway/customers/keys/keys.js';
import {
  openPackHolders,
  prolongPack,
  type PackView,
} from '../../../gateway/customers/packs/holders.js';
import { openPacks, type Packs } from '../../../gateway/customers/packs/packs.js';
import { forgetPackKeys } from '../../../gateway/customers/packs/sealed-keys.js';
import type { PackTables } from '../../../gateway/customers/packs/schema.js';
import { isRefusal } from '../../../gateway/ground/domain/refusal.js';
import { usdcUnits } from '../../../gateway/ground/domain/units.js';
import type { Store } from '../../../gateway/ground/store/store.js';
import { createLedger } from '../../../gateway/money/ledger/ledger.js';
import { MIGRATIONS } from '../../../gateway/wiring/migrations.js';
import { handClock } from '../../support/accounts.js';
import { BINDING, someAuthorization, someReply } from '../../support/payments.js';
import { realRandom } from '../../support/ports.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { testSealing } from '../../support/sealing.js';
import { temporaryStore } from '../../support/stores.js';

const DAY_MS = 24 * 3600 * 1000;
const LIFETIME_MS = 30 * DAY_MS;
const TICKET = 'the ticket of this very quote';
const SIZE = { searches: 10, amount: usdcUnits(2000n) };

let server: TestPostgres;
beforeAll(async () => {
  server = await startPostgres();
}, 60_000);
afterAll(() => server.stop());

const engines = [['SQLite'], ['PostgreSQL']] as const;

/** A pack whose payment is reserved and served, on books of its own. */
async function openBooks(engine: (typeof engines)[number][0]) {
  const { store, discard } = await temporaryStore(
    MIGRATIONS,
    engine === 'SQLite' ? undefined : server.url,
  );
  const clock = handClock();
  const keys = openKeys(store, clock, realRandom);
  const credits = openCredits(store, clock, realRandom);
  const parts = { store, clock, keys, credits, random: realRandom, sealing: testSealing };
  const packs = openPacks({ ...parts, lifetimeMs: LIFETIME_MS });
  const ledger = createLedger({ store, clock, random: realRandom, owner: 'this' });
  const requestId = realRandom.uuid();
  const authorization = someAuthorization({ value: SIZE.amount });
  const { payment } = await ledger.reserve(authorization, BINDING, requestId);
  const { chainId, asset, from: payer, nonce } = authorization;
  await packs.prepare(requestId, {
    size: SIZE,
    payment: { chainId, asset, payer, nonce },
    ticket: TICKET,
  });
  await ledger.serve(payment.id, someReply());
  return {
    ...{ store, clock, keys, packs, ledger, requestId, payer, discard },
    holders: openPackHolders(parts),
    credits,
    settle: () => settle(store, payment.id, clock.now()),
    keyOf: () => keyOf(packs, requestId),
  };
}

const settle = (store: Store, id: string, now: number) =>
  store.write((tx: Kysely<{ payments: { id: string; settled_at: bigint } }>) =>
    tx
      .updateTable('payments')
      .set({ settled_at: BigInt(now) })
      .where('id', '=', id)
      .execute(),
  );

/** What the buyer gets: the key, or the code of the refusal. */
async function keyOf(packs: Packs, requestId: string): Promise<string> {
  const reply = await packs.deliver(requestId, { kind: 'ticket', ticket: TICKET });
  if (!reply || isRefusal(reply)) return reply?.code ?? 'nothing';
  return (JSON.parse(Buffer.from(reply.body).toString()) as { key: string }).key;
}

const countOf = (store: Store, table: 'packs' | 'accounts') =>
  store.read(
    async (db: Kysely<PackTables>) => (await db.selectFrom(table).selectAll().execute()).length,
  );

test.each(engines)(
  '%s: of many who open a pack at once, one does, and all get one key',
  async (engine) => {
    const books = await openBooks(engine);
    const accounts = await countOf(books.store, 'accounts');
    await books.settle();
    const got = await Promise.all([
      ...Array.from({ length: 20 }, () => books.keyOf()),
      books.packs.recover().then(() => books.keyOf()),
    ]);
    expect(new Set(got).size).toBe(1);
    expect(got[0]).toMatch(/^s402_live_/);
    expect((await countOf(books.store, 'accounts')) - accounts).toBe(1);
    expect(await books.credits.reconcile()).toEqual([]);
    const figures = await books.holders.figures();
    expect(figures.owed).toBeGreaterThanOrEqual(SIZE.searches);
    await books.discard();
  },
);

test('a pack that nobody came back for is opened by the recovery, once; an unpaid one is not', async () => {
  const books = await openBooks('SQLite');
  expect(await books.packs.recover()).toBe(0);
  expect(await books.holders.figures()).toEqual({ sold: 0, revenue: 0n, owed: 0 });
  await books.settle();
  expect(await books.packs.recover()).toBe(1);
  expect(await books.packs.recover()).toBe(0);
  expect(await books.holders.figures()).toEqual({ sold: 1, revenue: 2000n, owed: 10 });
  await books.discard();
});

test('the key ends with its days, for searches, for its payment and for the operator’s debts', async () => {
  const books = await openBooks('SQLite');
  await books.settle();
  const key = await books.keyOf();
  books.clock.move(LIFETIME_MS - 1);
  expect(await books.keyOf()).toBe(key);
  expect(await books.keys.authenticate(`Bearer ${key}`)).toMatchObject({ kind: 'caller' });
  books.clock.move(1);
  expect(await books.keys.authenticate(`Bearer ${key}`)).toMatchObject({ code: 'invalid_api_key' });
  expect(await books.keyOf()).toBe('invalid_api_key');
  expect(await books.holders.figures()).toMatchObject({ sold: 1, owed: 0 });
  expect(await books.packs.prune()).toBe(1);
  expect(await books.keyOf()).toBe('invalid_api_key');
  await books.discard();
});

test('a top-up counts the days of the key anew, and its payment still gets the same bytes', async () => {
  const books = await openBooks('SQLite');
  await books.settle();
  const deliver = () => books.packs.deliver(books.requestId, { kind: 'payer' });
  const first = await deliver();
  const key = await books.keyOf();
  const [pack] = (await books.holders.list({
    address: books.payer,
    nonce: 'n',
  })) as readonly PackView[];
  books.clock.move(LIFETIME_MS - DAY_MS);
  const until = books.clock.now() + LIFETIME_MS;
  await books.store.write((tx: Kysely<PackTables>) =>
    prolongPack(tx as never, pack?.id ?? '', until),
  );
  books.keys.forget();
  books.clock.move(LIFETIME_MS - DAY_MS);
  expect(await books.keys.authenticate(`Bearer ${key}`)).toMatchObject({ kind: 'caller' });
  expect(await books.packs.prune()).toBe(1); // the wallet's proof, long expired
  expect(await deliver()).toEqual(first);
  await books.discard();
});

test('a pack that was not paid is forgotten after a week, and not before', async () => {
  const books = await openBooks('SQLite');
  await books.store.write((tx: Kysely<{ payments: { failed_at: bigint } }>) =>
    tx.updateTable('payments').set({ failed_at: 1n }).execute(),
  );
  books.clock.move(6 * DAY_MS);
  expect(await books.packs.prune()).toBe(0);
  books.clock.move(2 * DAY_MS);
  expect(await books.packs.prune()).toBe(1);
  expect(await countOf(books.store, 'packs')).toBe(0);
  await books.discard();
});

test('a pack that is still being paid after a week is kept', async () => {
  const books = await openBooks('SQLite');
  books.clock.move(8 * DAY_MS);
  expect(await books.packs.prune()).toBe(0);
  await books.discard();
});

test('after the secrets were replaced keys work on, and a pack that nobody had opened has a key', async () => {
  const opened = await openBooks('SQLite');
  await opened.settle();
  const key = await opened.keyOf();
  await forgetPackKeys(opened.store);
  expect(await opened.keyOf()).toBe('invalid_api_key');
  expect(await opened.keys.authenticate(`Bearer ${key}`)).toMatchObject({ kind: 'caller' });
  await opened.discard();

  const unopened = await openBooks('SQLite');
  await unopened.settle();
  await forgetPackKeys(unopened.store);
  const later = await unopened.keyOf();
  expect(await unopened.keys.authenticate(`Bearer ${later}`)).toMatchObject({ kind: 'caller' });
  await unopened.discard();
});

test('a wallet’s proof is good once, over any number of askers', async () => {
  const books = await openBooks('SQLite');
  await books.settle();
  await books.packs.recover();
  const wallet = { address: books.payer, nonce: 'ab'.repeat(16) };
  const answers = await Promise.all(Array.from({ length: 8 }, () => books.holders.list(wallet)));
  expect(answers.filter((answer) => answer !== 'used')).toHaveLength(1);
  await books.discard();
});
