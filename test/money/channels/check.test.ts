import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { generatePrivateKey } from 'viem/accounts';
import { BASE_CHAIN_ID, USDC_ADDRESS, USDC_DOMAIN } from '../../../contracts-abi/addresses.js';
import type { ChannelConfig } from '../../../contracts-abi/batch-settlement.js';
import { isRefusal } from '../../../gateway/ground/domain/refusal.js';
import { address, usdcUnits } from '../../../gateway/ground/domain/units.js';
import { createChannelCheck, type ChannelSale } from '../../../gateway/money/channels/check.js';
import { channelReasons } from '../../../gateway/money/x402/channel-reasons.js';
import { decodePaymentSignature } from '../../../gateway/money/x402/payment.js';
import { reasons } from '../../../gateway/money/x402/reasons.js';
import { channelRequirements } from '../../../gateway/money/x402/terms.js';
import { payerOf } from '../../support/chain.js';
import { channelOf, idOf, signDeposit, signVoucher } from '../../support/channels.js';

const payer = payerOf(generatePrivateKey());
const stranger = payerOf(generatePrivateKey());
const asset = address(USDC_ADDRESS);
const receiver = address(`0x${'11'.repeat(20)}`);
const receiverAuthorizer = address(`0x${'22'.repeat(20)}`);
const sale: ChannelSale = {
  terms: {
    ...{ chainId: BASE_CHAIN_ID, asset, domain: USDC_DOMAIN, payTo: receiver },
    ...{ amount: usdcUnits(50n), maxTimeoutSeconds: 300 },
  },
  channels: {
    ...{ amount: usdcUnits(50n), receiverAuthorizer, withdrawDelaySeconds: 86_400 },
    ...{ minDeposit: usdcUnits(50_000n), window: usdcUnits(3200n) },
  },
  minDeposit: 50_000n,
};
const check = createChannelCheck(BASE_CHAIN_ID, USDC_DOMAIN, asset);
const accepted = channelRequirements(sale.terms, sale.channels);

/** What is sent, as an object before it is encoded. */
async function payment(
  type: 'voucher' | 'deposit' | 'refund',
  more: { config?: Partial<ChannelConfig>; signer?: typeof payer; deposit?: bigint } = {},
) {
  const parties = { receiver, receiverAuthorizer, ...more.config };
  const channelConfig = channelOf(payer, parties);
  const { signer = payer, deposit = 50_000n } = more;
  const signature = await signVoucher(signer.account, channelConfig, 50n);
  const voucher = { channelId: idOf(channelConfig), maxClaimableAmount: '50', signature };
  const payload = { type, channelConfig, voucher };
  if (type !== 'deposit') return { x402Version: 2, accepted, payload };
  const signed = await signDeposit(payer, channelConfig, deposit);
  const erc3009Authorization = {
    ...{ validAfter: String(signed.validAfter), validBefore: String(signed.validBefore) },
    salt: `0x${signed.salt.toString(16).padStart(64, '0')}`,
    signature: signed.signature,
  };
  const authorization = { erc3009Authorization };
  const part = { deposit: { amount: String(deposit), authorization } };
  return { x402Version: 2, accepted, payload: { ...payload, ...part } };
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');

/** The kind of a payment that passes, or the reason or code of its refusal. */
function judge(value: unknown): string {
  const presented = decodePaymentSignature(encode(value));
  if (isRefusal(presented)) return presented.code;
  const checked = check(presented, sale);
  if (!isRefusal(checked)) return checked.kind;
  return checked.reason ?? 'no reason';
}

describe('a payment through a channel', () => {
  test('passes when everything about it is right', async () => {
    for (const type of ['voucher', 'deposit', 'refund'] as const)
      expect(judge(await payment(type))).toBe(type);
  });

  const other = address(`0x${'99'.repeat(20)}`);
  const none = address(`0x${'00'.repeat(20)}`);
  test.each([
    ['another receiver', { receiver: other }, channelReasons.receiver],
    ['another authorizer', { receiverAuthorizer: other }, channelReasons.receiverAuthorizer],
    ['another token', { token: other }, channelReasons.token],
    ['another delay', { withdrawDelay: 900 }, channelReasons.withdrawDelay],
    ['no payerAuthorizer', { payerAuthorizer: none }, channelReasons.voucherSignature],
    ['a voucher signed by another', { payerAuthorizer: other }, channelReasons.voucherSignature],
  ] as const)('into a channel with %s is refused by name', async (_, config, reason) => {
    expect(judge(await payment('voucher', { config }))).toBe(reason);
    expect(judge(await payment('deposit', { config }))).toBe(reason);
  });

  test('under a voucher of a stranger, or a deposit that is too small, is refused by name', async () => {
    expect(judge(await payment('voucher', { signer: stranger }))).toBe(
      channelReasons.voucherSignature,
    );
    expect(judge(await payment('deposit', { deposit: 49_999n }))).toBe(channelReasons.minDeposit);
  });

  test('for another price says so, and can still fetch what it has bought', async () => {
    const paid = await payment('voucher');
    const presented = decodePaymentSignature(
      encode({ ...paid, accepted: { ...accepted, amount: '60' } }),
    );
    if (isRefusal(presented)) throw new Error(presented.detail);
    expect(check(presented, sale)).toMatchObject({
      kind: 'voucher',
      payment: { cumulative: 50n, objection: { reason: reasons.requirements } },
    });
  });
});

describe('whatever is sent', () => {
  const good: unknown[] = [];
  const closed = new Set<string>([
    ...Object.values(channelReasons),
    ...[reasons.requirements, 'malformed_payment', 'voucher', 'deposit', 'refund'],
    // Where the scheme itself was changed, it is no payment of a channel.
    reasons.scheme,
  ]);
  beforeAll(async () => {
    for (const type of ['voucher', 'deposit', 'refund'] as const) good.push(await payment(type));
  });

  test('is passed or refused with a reason of the closed list, however it is broken', () => {
    const junk = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(
        '',
        '0x',
        '0x00',
        '-1',
        '1e3',
        '115792089237316195423570985008687907853269984665640564039457584007913129639936',
      ),
      fc.bigInt({ min: 0n, max: 2n ** 256n }).map(String),
    );
    fc.assert(
      fc.property(fc.nat(2), fc.infiniteStream(fc.nat(9)), junk, (which, turns, value) => {
        const broken: unknown = structuredClone(good[which]);
        breakOne(broken, turns, value);
        expect(closed).toContain(judge(broken));
      }),
      { numRuns: 400 },
    );
  });
});

/** Puts `value` somewhere into an object, which the numbers find. */
function breakOne(target: unknown, turns: Stream, value: unknown): void {
  let here = target as Record<string, unknown>;
  for (;;) {
    const keys = Object.keys(here);
    const key = keys[(turns.next().value ?? 0) % keys.length];
    if (key === undefined) return;
    const child = here[key];
    if (typeof child !== 'object' || child === null || Object.keys(child).length === 0) {
      here[key] = value;
      return;
    }
    here = child as Record<string, unknown>;
  }
}

interface Stream { next(): { value?: number } }
