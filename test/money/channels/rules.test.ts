import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { unixMillis, unixSeconds, usdcUnits } from '../../../gateway/ground/domain/units.js';
import {
  mayDeposit,
  mayVouch,
  statusOf,
  type Channel,
} from '../../../gateway/money/channels/channel.js';
import { judgeVoucher, type VoucherState } from '../../../gateway/money/channels/rules.js';

const PRICE = 50n;
const WINDOW = 64n * PRICE;

const stateOf = (wanted: {
  charged?: bigint;
  signed?: bigint;
  reserved?: number;
  floor?: bigint;
  balance?: bigint;
  claimed?: bigint;
  safe?: bigint;
}): VoucherState => {
  const { charged = 0n, signed = charged, balance = 1_000_000n, claimed = 0n } = wanted;
  return {
    charged: usdcUnits(charged),
    signed: usdcUnits(signed),
    reserved: wanted.reserved ?? 0,
    floor: usdcUnits(wanted.floor ?? 0n),
    onChain: { balance: usdcUnits(balance), claimed: usdcUnits(claimed), refundNonce: 0n },
    safeBalance: usdcUnits(wanted.safe ?? balance),
  };
};
const ask = (cumulative: bigint, more: object = {}) => ({
  ...{ cumulative, price: PRICE, window: WINDOW, deposit: 0n, unsafeMax: 0n },
  ...more,
});

describe('a voucher', () => {
  test('for what is charged and one price more fits', () => {
    expect(judgeVoucher(stateOf({}), ask(50n))).toBe('fits');
    expect(judgeVoucher(stateOf({ charged: 100n }), ask(150n))).toBe('fits');
  });

  test('below or at what is charged is a mismatch, and says so where it is claimed', () => {
    expect(judgeVoucher(stateOf({ charged: 100n }), ask(100n))).toBe('amount-mismatch');
    expect(judgeVoucher(stateOf({ charged: 100n, claimed: 100n }), ask(50n))).toBe('below-claimed');
  });

  test('beyond the window is a mismatch', () => {
    expect(judgeVoucher(stateOf({}), ask(WINDOW))).toBe('fits');
    expect(judgeVoucher(stateOf({}), ask(WINDOW + 1n))).toBe('amount-mismatch');
  });

  test('that searches under way have used up is busy', () => {
    expect(judgeVoucher(stateOf({ signed: 50n, reserved: 1 }), ask(60n))).toBe('busy');
    expect(judgeVoucher(stateOf({ signed: 50n, reserved: 1 }), ask(100n))).toBe('fits');
  });

  test('at or below the floor buys nothing, whatever is signed', () => {
    expect(judgeVoucher(stateOf({ charged: 100n, signed: 500n, floor: 100n }), ask(100n))).toBe(
      'amount-mismatch',
    );
  });

  test('beyond the balance exceeds it, unless a deposit comes with it', () => {
    expect(judgeVoucher(stateOf({ balance: 40n }), ask(50n))).toBe('exceeds-balance');
    expect(judgeVoucher(stateOf({ balance: 40n }), ask(50n, { deposit: 10n }))).toBe('fits');
  });

  test('spends no more than the cap of a balance that is not safe', () => {
    expect(judgeVoucher(stateOf({ safe: 0n }), ask(50n))).toBe('unsafe');
    expect(judgeVoucher(stateOf({ safe: 0n }), ask(50n, { unsafeMax: 50n }))).toBe('fits');
    expect(judgeVoucher(stateOf({ safe: 0n, charged: 50n }), ask(100n, { unsafeMax: 50n }))).toBe(
      'unsafe',
    );
  });
});

/** What may happen to a channel: a voucher is presented, or a search ends, well or badly. */
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('present' as const),
      ahead: fc.integer({ min: -3, max: 70 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('charge' as const), ahead: fc.constant(0) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('fail' as const), ahead: fc.constant(0) }),
  },
);

test('whatever comes in whatever order, charged never exceeds signed, nor signed the balance', () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 200 }),
      fc.bigInt({ min: 0n, max: 5000n }),
      (steps, balance) => {
        let [charged, signed, reserved] = [0n, 0n, 0];
        for (const { kind, ahead } of steps) {
          if (kind === 'present') {
            const cumulative = charged + BigInt(ahead) * PRICE;
            const verdict = judgeVoucher(
              stateOf({ charged, signed, reserved, balance }),
              ask(cumulative),
            );
            if (verdict !== 'fits') continue;
            reserved += 1;
            if (cumulative > signed) signed = cumulative;
          } else if (reserved > 0) {
            reserved -= 1;
            if (kind === 'charge') charged += PRICE;
          }
          expect(charged + PRICE * BigInt(reserved)).toBeLessThanOrEqual(signed);
          expect(signed).toBeLessThanOrEqual(balance);
        }
      },
    ),
  );
});

test('64 vouchers in flight, signed apart, fit in any order, each once', () => {
  const values = Array.from({ length: 64 }, (_, index) => BigInt(index + 1) * PRICE);
  fc.assert(
    fc.property(fc.shuffledSubarray(values, { minLength: 64 }), (order) => {
      let [signed, reserved] = [0n, 0];
      const late: bigint[] = [];
      // Those that come before what covers them are told to wait, and come again.
      for (const cumulative of order) {
        const verdict = judgeVoucher(stateOf({ signed, reserved }), ask(cumulative));
        if (verdict !== 'fits') late.push(cumulative);
        else {
          reserved += 1;
          if (cumulative > signed) signed = cumulative;
        }
      }
      for (const cumulative of late) {
        expect(judgeVoucher(stateOf({ signed, reserved }), ask(cumulative))).toBe('fits');
        reserved += 1;
      }
      expect(reserved).toBe(64);
    }),
  );
});

describe('a channel', () => {
  const DAY = 86_400;
  const channel = (more: object = {}) =>
    ({
      config: { withdrawDelay: DAY },
      onChain: { balance: usdcUnits(1n), claimed: usdcUnits(0n), refundNonce: 0n },
      ...more,
    }) as unknown as Channel;
  const at = (now: number, syncedAt = 0) => ({
    syncedAt: unixMillis(syncedAt),
    now: unixMillis(now),
    marginMs: 3_600_000,
  });
  const withdrawal = { amount: usdcUnits(1n), initiatedAt: unixSeconds(1) };
  const empty = { balance: usdcUnits(0n), claimed: usdcUnits(0n), refundNonce: 0n };

  test.each([
    [
      'withdrawing',
      channel({ onChain: { ...empty, withdrawal }, frozenAt: 1 }),
      at(0),
      false,
      false,
    ],
    ['frozen', channel({ frozenAt: 1 }), at(1e12), false, false],
    ['stale', channel({ onChain: empty }), at(DAY * 1000 - 3_599_999), false, true],
    ['stale', channel(), { ...at(0), syncedAt: undefined }, false, true],
    ['empty', channel({ onChain: empty }), at(0), false, true],
    ['open', channel(), at(DAY * 1000 - 3_600_000), true, true],
  ] as const)('is %s, and takes what that row says', (status, one, when, vouchers, deposits) => {
    expect(statusOf(one, when)).toBe(status);
    expect(mayVouch(status)).toBe(vouchers);
    expect(mayDeposit(status)).toBe(deposits);
  });
});
