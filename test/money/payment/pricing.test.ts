import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createPublicClient, http } from 'viem';
import { isRefusal } from '../../../gateway/ground/domain/refusal.js';
import {
  address,
  unixMillis,
  unixSeconds,
  usdcUnits,
  type Address,
  type Hex,
} from '../../../gateway/ground/domain/units.js';
import { createLivePrice, usdcCost, type EthUsd } from '../../../gateway/money/payment/price.js';
import { createPricing, type Pricing } from '../../../gateway/money/payment/pricing.js';
import { createQuotes, quoteKey } from '../../../gateway/money/payment/quotes.js';
import { createVerifier } from '../../../gateway/money/payment/verifier.js';
import { paymentRequired } from '../../../gateway/money/x402/challenge.js';
import { decodePaymentSignature, decodePaymentV1 } from '../../../gateway/money/x402/payment.js';
import { startTestChain, type TestChain } from '../../support/chain.js';
import {
  base64,
  officialPayment,
  paymentHeader,
  paymentObject,
  resource,
  standingClock,
  terms,
} from '../../support/presented.js';

const secret = (byte: number) => quoteKey(Buffer.alloc(32, byte));

/** One gateway with a price that tests move, and a wall clock that they move. */
function gateway(keys = createQuotes([secret(1)]), startSeconds = 1_800_000_000) {
  let price = 50n;
  let nowSeconds = startSeconds;
  const pricing = createPricing({
    clock: { now: () => unixMillis(nowSeconds * 1000) },
    terms: terms(),
    resource,
    amount: () => usdcUnits(price),
    price: usdcUnits(50n),
    quotes: keys,
  });
  return {
    pricing,
    setPrice: (units: bigint) => (price = units),
    pass: (seconds: number) => (nowSeconds += seconds),
    objection: (header: string, version: 1 | 2 = 2) => objection(pricing, header, version),
  };
}

/** Why a new payment is not taken at this gateway now, if it is not. */
async function objection(pricing: Pricing, header: string, version: 1 | 2) {
  const verifier = createVerifier({
    chain: { ethCall: () => Promise.reject(new Error('the chain was asked')) },
    clock: standingClock(),
    offer: () => pricing.offer(),
    honours: (payment) => pricing.honours(payment),
    limits: { settleMarginSeconds: 10, validityMaxSeconds: 86_400, deadlineMs: 1000 },
    eip6492Factories: [],
  });
  const payment = version === 2 ? decodePaymentSignature(header) : decodePaymentV1(header);
  if (isRefusal(payment)) throw new Error(payment.detail);
  const checked = await verifier.check(payment);
  if (isRefusal(checked)) throw new Error(checked.detail);
  return checked.objection?.reason;
}

const MISMATCH = 'invalid_exact_evm_payload_authorization_value_mismatch';

describe('a quoted price', () => {
  test('says what of it pays for gas', () => {
    const quoting = gateway();
    expect(quoting.pricing.offer().extra).toMatchObject({ gas: '0' });
    quoting.setPrice(90n);
    expect(quoting.pricing.offer().extra).toMatchObject({ gas: '40' });
  });

  test('is honoured for the time that payers are given, at any gateway of the installation', async () => {
    const quoting = gateway();
    const header = await officialPayment(paymentRequired(quoting.pricing.offer()));
    const other = gateway();
    other.setPrice(90n);
    expect(await other.objection(header)).toBeUndefined();
    other.pass(299);
    expect(await other.objection(header)).toBeUndefined();
    other.pass(60);
    expect(await other.objection(header)).toBe(MISMATCH);
  });

  test('is not honoured with another amount, another window, or by another installation', async () => {
    const quoting = gateway();
    const { extra, terms: quoted } = quoting.pricing.offer();
    quoting.setPrice(90n);
    const pay = (units: string, accepted: object) =>
      paymentHeader(quoted, {
        value: units,
        accepted: { amount: units, extra: { ...quoted.domain, ...extra }, ...accepted },
      });
    expect(await quoting.objection(await pay('50', {}))).toBeUndefined();
    expect(await quoting.objection(await pay('49', {}))).toBe(MISMATCH);
    expect(await quoting.objection(await pay('50', { maxTimeoutSeconds: 600 }))).toBe(MISMATCH);
    const foreign = gateway(createQuotes([secret(2)]));
    foreign.setPrice(90n);
    expect(await foreign.objection(await pay('50', {}))).toBe(MISMATCH);
  });

  test('is honoured while the secret is changed, and no more once the old one is gone', async () => {
    const header = await officialPayment(paymentRequired(gateway().pricing.offer()));
    const changing = gateway(createQuotes([secret(2), secret(1)]));
    const changed = gateway(createQuotes([secret(2)]));
    for (const one of [changing, changed]) one.setPrice(90n);
    expect(await changing.objection(header)).toBeUndefined();
    expect(await changed.objection(header)).toBe(MISMATCH);
  });

  test('needs no quote while the price stands, and a broken quote is no quote', async () => {
    const own = gateway();
    const { terms: now, extra } = own.pricing.offer();
    const quote = String(extra?.quote);
    expect(await own.objection(await paymentHeader(now))).toBeUndefined();
    own.setPrice(90n);
    for (const broken of [
      undefined,
      7,
      '',
      quote.slice(1),
      `${quote}A`,
      quote.replace(/.$/, (end) => (end === 'A' ? 'B' : 'A')),
      quote.replace(/\.(\d+)\./, (_match, expires) => `.${Number(expires) + 1}.`),
    ]) {
      const extraSent = { ...now.domain, quote: broken };
      const header = await paymentHeader(now, { accepted: { extra: extraSent } });
      expect([broken, await own.objection(header)]).toEqual([broken, MISMATCH]);
    }
  });

  test('of version 1, which cannot send a quote back, is honoured by the gateway that asked it', async () => {
    const own = gateway();
    const { payload } = await paymentObject(own.pricing.offer().terms);
    const header = base64(
      JSON.stringify({ x402Version: 1, scheme: 'exact', network: 'base', payload }),
    );
    own.setPrice(90n);
    expect(await own.objection(header, 1)).toBeUndefined();
    own.pass(400);
    expect(await own.objection(header, 1)).toBe(MISMATCH);
  });

  test('keeps its challenge for a while, so that it is encoded once', () => {
    const { pricing, pass, setPrice } = gateway();
    const first = pricing.offer();
    pass(5);
    expect(pricing.offer()).toBe(first);
    setPrice(51n);
    expect(pricing.offer()).not.toBe(first);
    pass(40);
    expect(pricing.offer().terms.amount).toBe(51n);
  });
});

test('a quote secret of less than 32 bytes is no secret', () => {
  expect(() => quoteKey(Buffer.alloc(31))).toThrow(RangeError);
});

describe('the cost of a settlement', () => {
  test('is rounded up to atomic units', () => {
    const usd = 3000n * 10n ** 8n;
    expect(usdcCost(10n ** 18n, usd)).toBe(3_000_000_000n);
    expect(usdcCost(1n, usd)).toBe(1n);
    expect(usdcCost(0n, usd)).toBe(0n);
    expect(usdcCost(85_700n * 5_000_000n, usd)).toBe(1286n);
  });
});

describe('a live price on a real EVM', () => {
  let chain: TestChain;
  beforeAll(async () => {
    chain = await startTestChain();
  });
  afterAll(() => chain.stop());

  const FEED = address(`0x${'fe'.repeat(20)}`);
  const NOW = unixSeconds(1_800_000_000);

  const live = (ethUsd: EthUsd) =>
    createLivePrice({
      chain: {
        ethCall: async (to: Address, data: Hex): Promise<Hex> => {
          const client = createPublicClient({ transport: http(chain.rpcUrl) });
          const answer = await client.call({ to, data });
          return answer.data ?? '0x';
        },
      },
      clock: { now: () => unixMillis(NOW * 1000), sleep: () => Promise.resolve() },
      log: { warn: () => undefined },
      floor: usdcUnits(50n),
      gas: { gasUnits: 85_700n, priorityFeeWei: 0n, transactionBytes: 500 },
      ethUsd,
      everyMs: 15_000,
      deadlineMs: 2000,
    });

  /** A feed that answers this price, told at this time. */
  const setFeed = (answer: bigint, updatedAt: number, decimals = 8) =>
    chain.client.setCode({ address: FEED, bytecode: feedCode(answer, updatedAt, decimals) });

  test('is the floor and the gas of one settlement at the base fee of the block', async () => {
    await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 5_000_000n });
    await chain.mine();
    const price = live({ kind: 'fixed', usdE8: 3000n * 10n ** 8n });
    expect(price.amount()).toBe(50n);
    await price.refresh();
    const { baseFeePerGas } = await chain.client.getBlock();
    const dearest = 50n + usdcCost(85_700n * 5_000_000n, 3000n * 10n ** 8n);
    expect(price.amount()).toBeGreaterThan(50n);
    expect(price.amount()).toBeLessThanOrEqual(dearest);
    expect(baseFeePerGas).toBeLessThanOrEqual(5_000_000n);
  });

  test('follows a Chainlink feed, and stands where the feed is stale, empty or no feed', async () => {
    const price = live({ kind: 'feed', feed: FEED, ageMaxSeconds: 3600 });
    await expect(price.refresh()).rejects.toThrow('not a feed');
    expect(price.amount()).toBe(50n);
    await setFeed(3000n * 10n ** 8n, NOW - 3599);
    await price.refresh();
    const known = price.amount();
    expect(known).toBeGreaterThan(50n);
    for (const [answer, updatedAt, decimals] of [
      [9000n * 10n ** 8n, NOW - 3601, 8],
      [0n, NOW, 8],
      [-1n, NOW, 8],
      [9000n * 10n ** 8n, NOW, 18],
    ] as const) {
      await setFeed(answer, updatedAt, decimals);
      await expect(price.refresh()).rejects.toThrow('feed');
      expect(price.amount()).toBe(known);
    }
  });
});

/** EVM code that answers `decimals()` and, to any other call, a round of a feed. */
function feedCode(answer: bigint, updatedAt: number, decimals: number): Hex {
  const word = (value: bigint) => BigInt.asUintN(256, value).toString(16).padStart(64, '0');
  const words = [1n, answer, BigInt(updatedAt), BigInt(updatedAt), 1n];
  const stores = words
    .map((value, index) => `7f${word(value)}60${(index * 32).toString(16).padStart(2, '0')}52`)
    .join('');
  const round = `${stores}60a05ff3`;
  const head = (target: number) =>
    `5f3560e01c63313ce5671461${target.toString(16).padStart(4, '0')}57`;
  const target = (head(0).length + round.length) / 2;
  return `0x${head(target)}${round}5b60${decimals.toString(16).padStart(2, '0')}5f5260205ff3`;
}
