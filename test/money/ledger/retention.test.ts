import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { bytes32, unixMillis, unixSeconds } from '../../../gateway/ground/domain/units.js';
import { createLedger } from '../../../gateway/money/ledger/ledger.js';
import { LEDGER_MIGRATIONS } from '../../../gateway/money/ledger/migrations.js';
import { pruneReplies, pruneRows } from '../../../gateway/money/ledger/retention.js';
import { TransferBooks } from '../../../gateway/money/ledger/transfers.js';
import { BINDING, someAuthorization, someReply } from '../../support/payments.js';
import { realRandom } from '../../support/ports.js';
import { temporaryStore } from '../../support/stores.js';

const HOUR = 3_600_000;
const RETENTION = { replyMs: HOUR, rowMs: 24 * HOUR };
let now = 1_800_000_000_000;
const clock = { now: () => unixMillis(now) };
let books: Awaited<ReturnType<typeof temporaryStore>>;
beforeEach(async () => {
  now = 1_800_000_000_000;
  books = await temporaryStore(LEDGER_MIGRATIONS);
});
afterEach(() => books.discard());

async function settled() {
  const ledger = createLedger({ store: books.store, clock, random: realRandom, owner: 'me' });
  const transfers = new TransferBooks(books.store, clock);
  const validBefore = unixSeconds(now / 1000 + 300);
  const authorization = someAuthorization({ validBefore });
  const { payment } = await ledger.reserve(authorization, BINDING, 'a');
  await ledger.serve(payment.id, someReply());
  const hash = bytes32(`0x${'ab'.repeat(32)}`);
  await transfers.outcomes.recordAdopted(payment.id, hash, { number: 7n, hash });
  return { ledger, transfers, authorization, id: payment.id };
}

test('a settled reply can be fetched for the stated time, and its facts after that', async () => {
  const { ledger, id } = await settled();
  now += HOUR - 1;
  expect(await pruneReplies(books.store, clock, RETENTION)).toBe(0);
  expect((await ledger.get(id))?.reply).toEqual(someReply());
  now += 2;
  expect(await pruneReplies(books.store, clock, RETENTION)).toBe(1);
  const payment = await ledger.get(id);
  expect(payment?.reply).toBeUndefined();
  expect(payment?.status).toBe('settled');
});

test('a used authorization stays known until long after its window, and while not final', async () => {
  const { ledger, transfers, authorization, id } = await settled();
  now += 25 * HOUR;
  expect(await pruneRows(books.store, clock, RETENTION)).toBe(0);
  await transfers.outcomes.recordFinal([id]);
  now -= 24 * HOUR;
  expect(await pruneRows(books.store, clock, RETENTION)).toBe(0);
  expect(await ledger.find(authorization)).toBeDefined();
  now += 24 * HOUR;
  expect(await pruneRows(books.store, clock, RETENTION)).toBe(1);
  expect(await ledger.find(authorization)).toBeUndefined();
});

test('the reply of a payment that is not settled yet is never dropped', async () => {
  const ledger = createLedger({ store: books.store, clock, random: realRandom, owner: 'me' });
  const { payment } = await ledger.reserve(someAuthorization(), BINDING, 'a');
  await ledger.serve(payment.id, someReply());
  now += 100 * HOUR;
  expect(await pruneReplies(books.store, clock, RETENTION)).toBe(0);
});
