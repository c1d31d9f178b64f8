import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Store } from '../../../gateway/ground/store/store.js';
import type { ChannelBooks } from '../../../gateway/money/channel-books/books.js';
import {
  pruneVoucherReplies,
  pruneVouchers,
} from '../../../gateway/money/channel-books/retention.js';
import { brokenInvariants } from '../../../gateway/money/channels/rules.js';
import {
  CHANNEL_BOOK_MIGRATIONS,
  channelBooks,
  openChannel,
  voucherOf,
} from '../../support/channel-books.js';
import { ENGINES, engineOf } from '../../support/engines.js';
import { realClock } from '../../support/ports.js';
import { temporaryStore } from '../../support/stores.js';

const BODY = new TextEncoder().encode('{"results":[]}');
const OTHER = `0x${'22'.repeat(32)}` as const;

describe.each(ENGINES)('on %s', (engine) => {
  const place = engineOf(engine);
  let stores: Awaited<ReturnType<typeof temporaryStore>>[];
  /** Two gateways: on SQLite, where there is one process, they share its connection. */
  let gateways: readonly [ChannelBooks, ChannelBooks];
  let store: Store;

  beforeAll(() => place.start(), 60_000);
  afterAll(() => place.stop());
  beforeEach(async () => {
    const open = () =>
      temporaryStore(
        CHANNEL_BOOK_MIGRATIONS,
        engine === 'PostgreSQL' ? place.location() : undefined,
      );
    const first = await open();
    const second = engine === 'PostgreSQL' ? await open() : first;
    stores = [...new Set([first, second])];
    store = first.store;
    const owners = engine === 'PostgreSQL' ? (['one', 'two'] as const) : (['one', 'one'] as const);
    gateways = [channelBooks(first.store, owners[0]), channelBooks(second.store, owners[1])];
  });
  afterEach(async () => {
    for (const one of stores) await one.discard();
  });

  test('one voucher presented 60 times at two gateways is reserved once', async () => {
    const id = await openChannel(store, 10_000n);
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        gateways[index % 2 === 0 ? 0 : 1].reserve(voucherOf(id, 50n)),
      ),
    );
    const kinds = answers.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'reserved')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'running')).toHaveLength(59);
  });

  test('64 vouchers in flight at two gateways are each charged once, and no more than is signed', async () => {
    const id = await openChannel(store, 10_000n);
    const buy = async (at: number) => {
      const voucher = voucherOf(id, BigInt(at + 1) * 50n);
      const books = gateways[at % 2 === 0 ? 0 : 1];
      for (;;) {
        const answer = await books.reserve(voucher);
        if (answer.kind === 'reserved') return books.charge(voucher, BODY);
        if (answer.kind !== 'refused' || answer.because !== 'busy') {
          // It came before any voucher that covers it.
          expect(answer).toMatchObject({ kind: 'refused', because: 'amount-mismatch' });
        }
      }
    };
    const charged = await Promise.all(Array.from({ length: 64 }, (_, at) => buy(63 - at)));
    expect(
      charged.map((one) => one?.after.charged).toSorted((a, b) => Number((a ?? 0n) - (b ?? 0n))),
    ).toEqual(Array.from({ length: 64 }, (_, at) => BigInt(at + 1) * 50n));
    const channel = await gateways[0].find(id);
    expect(channel).toMatchObject({ charged: 3200n, signed: 3200n, reserved: 0 });
    expect(channel && brokenInvariants(channel)).toEqual([]);
  });

  test('a charge and its reply are found again, and a failed search leaves nothing but the signature', async () => {
    const [books] = gateways;
    const id = await openChannel(store, 10_000n);
    const failed = voucherOf(id, 50n, { signature: '0x0f' });
    expect((await books.reserve(failed)).kind).toBe('reserved');
    await books.release(failed);
    await books.release(failed);
    expect(await books.find(id)).toMatchObject({
      ...{ charged: 0n, signed: 50n, signature: '0x0f', reserved: 0 },
    });
    const voucher = voucherOf(id, 50n);
    expect((await books.reserve(voucher)).kind).toBe('reserved');
    expect(await books.charge(voucher, BODY)).toMatchObject({ after: { charged: 50n } });
    expect(await books.charge(voucher, BODY)).toBeUndefined();
    const again = await gateways[1].reserve(voucherOf(id, 50n, { binding: OTHER }));
    expect(again).toMatchObject({
      kind: 'charged',
      voucher: { binding: voucher.binding, price: 50n, after: { charged: 50n, balance: 10_000n } },
    });
    expect(again.kind === 'charged' && again.voucher.reply?.body).toEqual(BODY);
  });

  test('a dropped voucher leaves a floor, and buys nothing again', async () => {
    const [books] = gateways;
    const id = await openChannel(store, 10_000n);
    // A failed search leaves a signature for more than is charged: enough for one search more.
    const ahead = voucherOf(id, 150n);
    await books.reserve(ahead);
    await books.release(ahead);
    for (const cumulative of [50n, 100n]) {
      const voucher = voucherOf(id, cumulative);
      expect((await books.reserve(voucher)).kind).toBe('reserved');
      expect(await books.charge(voucher, BODY)).toBeDefined();
    }
    const old = { replyMs: -1000, rowMs: 3_600_000 };
    expect(await pruneVoucherReplies(store, realClock, old)).toBeGreaterThanOrEqual(2);
    const kept = await books.reserve(voucherOf(id, 100n));
    expect(kept.kind === 'charged' && kept.voucher.reply).toBeUndefined();
    expect(await pruneVouchers(store, realClock, old)).toBe(0);
    expect(await pruneVouchers(store, realClock, { ...old, rowMs: -1000 })).toBeGreaterThanOrEqual(
      2,
    );
    expect(await books.reserve(voucherOf(id, 100n))).toMatchObject({
      ...{ kind: 'refused', because: 'amount-mismatch' },
    });
    expect((await books.reserve(voucherOf(id, 150n))).kind).toBe('reserved');
  });

  test('a reservation older than any search is void, and who held it charges nothing', async () => {
    const [books] = gateways;
    const hasty = channelBooks(stores[0]?.store ?? store, 'one', -1);
    const id = await openChannel(store, 10_000n);
    const late = voucherOf(id, 50n);
    expect((await books.reserve(late)).kind).toBe('reserved');
    const next = voucherOf(id, 50n, { binding: OTHER });
    expect((await hasty.reserve(next)).kind).toBe('reserved');
    expect(await books.charge(late, BODY)).toBeUndefined();
    expect(await books.charge(next, BODY)).toMatchObject({ after: { charged: 50n } });
    expect(await books.find(id)).toMatchObject({ charged: 50n, reserved: 0 });
  });
});

test('with one process, the reservations of an earlier one are void at once', async () => {
  const { store, discard } = await temporaryStore(CHANNEL_BOOK_MIGRATIONS);
  try {
    const id = await openChannel(store, 10_000n);
    expect((await channelBooks(store, 'killed').reserve(voucherOf(id, 50n))).kind).toBe('reserved');
    const restarted = channelBooks(store, 'restarted');
    expect((await restarted.reserve(voucherOf(id, 50n))).kind).toBe('reserved');
    expect(await restarted.find(id)).toMatchObject({ reserved: 1, signed: 50n });
  } finally {
    await discard();
  }
});
