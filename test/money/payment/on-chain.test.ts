import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createPublicClient, encodeFunctionData, http } from 'viem';
import { usdcKeyAbi } from '../../../contracts-abi/usdc.js';
import { isRefusal, type Refusal } from '../../../gateway/ground/domain/refusal.js';
import {
  unixSeconds,
  usdcUnits,
  type Address,
  type Hex,
} from '../../../gateway/ground/domain/units.js';
import type { SignedAuthorization } from '../../../gateway/money/payment/authorization.js';
import { transferCalls } from '../../../gateway/money/payment/transfer.js';
import {
  createVerifier,
  type Confirmed,
  type Verifier,
} from '../../../gateway/money/payment/verifier.js';
import { startTestChain, type Payer, type TestChain } from '../../support/chain.js';
import { resource, standingClock, terms } from '../../support/presented.js';

const PRICE = usdcUnits(50n);
let chain: TestChain;
let verifier: Verifier;
let calls: number;
let snapshot: Hex;

/** One `eth_call` of the real EVM, counted. */
function caller() {
  const client = createPublicClient({ transport: http(chain.rpcUrl) });
  return {
    ethCall: async (to: Address, data: Hex): Promise<Hex> => {
      calls += 1;
      const answer = await client.call({ to, data });
      return answer.data ?? '0x';
    },
  };
}

function newVerifier(ethCall = caller().ethCall, clock = standingClock()): Verifier {
  return createVerifier({
    chain: { ethCall },
    clock,
    offer: () => ({ terms: terms({ payTo: chain.payTo, amount: PRICE }), resource }),
    limits: { settleMarginSeconds: 10, validityMaxSeconds: 86_400, deadlineMs: 2000 },
    eip6492Factories: [],
  });
}

beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());
beforeEach(async () => {
  snapshot = await chain.client.snapshot();
  calls = 0;
  verifier = newVerifier();
});
afterEach(() => chain.client.revert({ id: snapshot }));

const confirm = (authorization: SignedAuthorization) =>
  verifier.confirm({ ...authorization, signedBy: 'key' });

function reasonOf(result: Confirmed | Refusal): string {
  return isRefusal(result) ? (result.reason ?? result.code) : 'confirmed';
}

async function refusalFor(authorization: SignedAuthorization): Promise<string> {
  return reasonOf(await confirm(authorization));
}

describe('on a real EVM, a payment', () => {
  test('that the token would execute is confirmed with the facts of the block, in one call', async () => {
    const payer = await chain.newPayer({ usdc: 50n });
    const signed = await chain.sign(payer, { value: PRICE });
    const block = await chain.client.getBlock();
    const result = await confirm(signed);
    if (isRefusal(result)) throw new Error(result.detail);
    expect(result.authorization).toEqual(signed);
    expect(result.facts.chainId).toBe(8453);
    expect(result.facts.blockNumber).toBeGreaterThanOrEqual(block.number);
    expect(result.facts.timestamp).toBeGreaterThanOrEqual(Number(block.timestamp));
    expect(result.facts.baseFeePerGas).toBeGreaterThan(0n);
    expect(calls).toBe(1);
    expect(await chain.balance(payer.address)).toBe(50n);
  });

  test('that the calls of a settlement would then execute really executes', async () => {
    const payer = await chain.newPayer({ usdc: 50n });
    const signed = await chain.sign(payer, { value: PRICE });
    expect(await refusalFor(signed)).toBe('confirmed');
    for (const { target, data } of transferCalls(signed)) await chain.send(target, data);
    expect(await chain.transfers(payer.address)).toMatchObject([{ to: chain.payTo, value: 50n }]);
    expect(await refusalFor(signed)).toBe('invalid_exact_evm_nonce_already_used');
  });

  test('that was canceled is refused as used', async () => {
    const payer = await chain.newPayer({ usdc: 50n });
    const signed = await chain.sign(payer, { value: PRICE });
    const signature = await chain.cancellation(payer, signed.nonce);
    await chain.send(
      chain.asset,
      encodeFunctionData({
        abi: usdcKeyAbi,
        functionName: 'cancelAuthorization',
        args: [
          payer.address,
          signed.nonce,
          Number.parseInt(signature.slice(130), 16),
          `0x${signature.slice(2, 66)}`,
          `0x${signature.slice(66, 130)}`,
        ],
      }),
    );
    expect(await refusalFor(signed)).toBe('invalid_exact_evm_nonce_already_used');
  });

  test('of a payer that is one unit short is refused', async () => {
    const payer = await chain.newPayer({ usdc: 49n });
    const signed = await chain.sign(payer, { value: PRICE });
    expect(await refusalFor(signed)).toBe('invalid_exact_evm_insufficient_balance');
  });

  test('while the token is paused, or of a blacklisted payer, is refused with the token’s words', async () => {
    const payer = await chain.newPayer({ usdc: 50n });
    const signed = await chain.sign(payer, { value: PRICE });
    await chain.devUsdc('pause');
    expect(await confirm(signed)).toMatchObject({
      code: 'payment_invalid',
      reason: 'invalid_exact_evm_transaction_simulation_failed',
      detail: expect.stringContaining('Pausable: paused') as unknown,
    });
    await chain.devUsdc('unpause');
    await chain.devUsdc('blacklist', [payer.address]);
    expect(await confirm(signed)).toMatchObject({
      reason: 'invalid_exact_evm_transaction_simulation_failed',
      detail: expect.stringContaining('Blacklistable: account is blacklisted') as unknown,
    });
  });

  test('signed by another key is refused by the token too', async () => {
    const [payer, other] = await chain.newPayers(2, { usdc: 50n });
    if (!payer || !other) throw new Error('no payers');
    const signed = await chain.sign(other, { value: PRICE, from: payer.address });
    expect(await refusalFor(signed)).toBe('invalid_exact_evm_signature');
  });

  test('must be valid now by the chain’s time, long enough to settle, and not for ever', async () => {
    const payer = await chain.newPayer({ usdc: 50n });
    const now = Number((await chain.client.getBlock()).timestamp);
    const window = (validAfter: number, validBefore: number) =>
      chain.sign(payer, {
        value: PRICE,
        validAfter: unixSeconds(validAfter),
        validBefore: unixSeconds(validBefore),
      });
    const late = 'invalid_exact_evm_payload_authorization_valid_before';
    expect(await refusalFor(await window(0, now + 60))).toBe('confirmed');
    expect(await refusalFor(await window(now - 600, now + 60))).toBe('confirmed');
    expect(await refusalFor(await window(0, now + 5))).toBe(late);
    expect(await refusalFor(await window(0, now - 1))).toBe(late);
    expect(await refusalFor(await window(0, now + 2 * 86_400))).toBe(late);
    expect(await refusalFor(await window(now + 30, now + 300))).toBe(
      'invalid_exact_evm_payload_authorization_valid_after',
    );
  });

  test('whose window is over is refused without a call while the chain’s time is known', async () => {
    const clock = standingClock();
    verifier = newVerifier(caller().ethCall, clock);
    const payer = await chain.newPayer({ usdc: 50n });
    const now = Number((await chain.client.getBlock()).timestamp);
    expect(await refusalFor(await chain.sign(payer, { value: PRICE }))).toBe('confirmed');
    const over = await chain.sign(payer, { value: PRICE, validBefore: unixSeconds(now - 1) });
    const late = 'invalid_exact_evm_payload_authorization_valid_before';
    expect(await refusalFor(over)).toBe(late);
    expect(calls).toBe(1);
    clock.advance(61);
    expect(await refusalFor(over)).toBe(late);
    expect(calls).toBe(2);
  });
});

describe('concurrent confirmations', () => {
  test('of 64 payers share calls, and each gets its own answer', async () => {
    const payers = await chain.newPayers(64, { usdc: 50n });
    await chain.fund(
      payers.filter((_, index) => index % 4 === 0).map(({ address }) => address),
      7n,
    );
    const signed = await Promise.all(payers.map((payer) => chain.sign(payer, { value: PRICE })));
    const results = await Promise.all(signed.map(refusalFor));
    expect(results).toEqual(
      payers.map((_, index) =>
        index % 4 === 0 ? 'invalid_exact_evm_insufficient_balance' : 'confirmed',
      ),
    );
    expect(calls).toBeLessThanOrEqual(4);
  });

  test('of two payments that one balance covers once let one through', async () => {
    const [opener] = await chain.newPayers(1, { usdc: 50n });
    const payer = await chain.newPayer({ usdc: 50n });
    if (!opener) throw new Error('no payer');
    const first = confirm(await chain.sign(opener, { value: PRICE }));
    const pair = await Promise.all([1, 2].map(() => chain.sign(payer, { value: PRICE })));
    const results = await Promise.all([...pair.map(refusalFor), first.then(reasonOf)]);
    expect(results).toEqual(['confirmed', 'invalid_exact_evm_insufficient_balance', 'confirmed']);
  });
});

describe('an account whose code burns all gas', () => {
  const burn: Hex = '0x5b600056'; // JUMPDEST, PUSH1 0, JUMP: an endless loop

  async function burner(): Promise<Payer> {
    const payer = await chain.newPayer({ usdc: 50n });
    await chain.client.setCode({ address: payer.address, bytecode: burn });
    return payer;
  }

  test('is refused, and does not harm the payments beside it', async () => {
    const opener = await chain.newPayer({ usdc: 50n });
    const spoiler = await burner();
    const payers = await chain.newPayers(4, { usdc: 50n });
    const all = [opener, spoiler, ...payers];
    const signed = await Promise.all(all.map((payer) => chain.sign(payer, { value: PRICE })));
    const results = await Promise.all(signed.map(refusalFor));
    expect(results).toEqual([
      'confirmed',
      'invalid_exact_evm_signature',
      'confirmed',
      'confirmed',
      'confirmed',
      'confirmed',
    ]);
  });
});

describe('a chain', () => {
  test('that is out of reach gets the payer a 503 and the same payment, never a challenge', async () => {
    verifier = newVerifier(() => Promise.reject(new Error('refused')));
    const payer = await chain.newPayer({ usdc: 50n });
    expect(await confirm(await chain.sign(payer, { value: PRICE }))).toMatchObject({
      code: 'chain_unavailable',
      status: 503,
      retryAfterSeconds: 2,
    });
  });

  test('that answers nonsense or for another chain is out of reach too', async () => {
    const payer = await chain.newPayer({ usdc: 50n });
    const signed = await chain.sign(payer, { value: PRICE });
    const { ethCall } = caller();
    for (const lie of [
      () => Promise.resolve<Hex>('0x'),
      () => Promise.resolve<Hex>(`0x${'ff'.repeat(64)}`),
      async (to: Address, data: Hex): Promise<Hex> => {
        const answer = await ethCall(to, data);
        return answer.replace(8453n.toString(16).padStart(64, '0'), '1'.padStart(64, '0')) as Hex;
      },
    ]) {
      verifier = newVerifier(lie);
      expect(reasonOf(await confirm(signed))).toBe('chain_unavailable');
    }
  });
});
