import { encodeFunctionData, parseEther } from 'viem';
import { usdcBytesAbi } from '../../contracts-abi/usdc.js';
import type { Bytes32, Hex } from '../../gateway/ground/domain/units.js';
import { transferCalls } from '../../gateway/money/payment/transfer.js';
import { type Payer, randomNonce, type ReachedChain } from '../support/chain.js';
import { type Attempt, newAttempt } from '../support/payer-client.js';

/** How a payer behaves. */
export type Way =
  | 'good'
  /** Signed by another key. */
  | 'forged'
  /** Without the money. */
  | 'poor'
  /** An authorization that ends before a search could be settled. */
  | 'late'
  /** Two authorizations at once, and money for one of them. */
  | 'twice'
  /** The money is gone when the search has been answered. */
  | 'spent'
  /** The authorization is cancelled while the search runs. */
  | 'cancelled'
  /** A stranger submits the authorization while the search runs. */
  | 'overtaken';

const BAD_WAYS = [
  'forged',
  'poor',
  'late',
  'twice',
  'spent',
  'cancelled',
  'overtaken',
] as const satisfies readonly Way[];

/** Of a hundred payments so many are not good, in equal parts of each bad way. */
const BAD_PERCENT = 14;

export function drawWay(random: () => number): Way {
  const drawn = random() * 100;
  if (drawn >= BAD_PERCENT) return 'good';
  return BAD_WAYS[Math.floor((drawn / BAD_PERCENT) * BAD_WAYS.length)] ?? 'good';
}

/** What a payment of this way may come to: its money moved, not moved, or either. */
export const MAY_BE_PAID: Readonly<Record<Way, readonly boolean[]>> = {
  good: [true],
  overtaken: [true],
  twice: [true, false],
  spent: [false],
  cancelled: [false],
  forged: [false],
  poor: [false],
  late: [false],
};

const USDC_EACH = 50n;

/** What happens while a search runs, by the words it searches for. */
export type Meanwhile = Map<string, () => Promise<unknown>>;

/** Lets strangers send transactions on this chain without a signature. */
export async function welcomeStrangers({ client }: ReachedChain): Promise<void> {
  await client.request({ method: 'anvil_autoImpersonateAccount', params: [true] } as never);
}

/** The payments of one payer of this way: one, or two that are sent at once. */
export async function paymentsOf(
  way: Way,
  payer: Payer,
  chain: ReachedChain,
  meanwhile: Meanwhile,
): Promise<Attempt[]> {
  const { payTo } = chain;
  switch (way) {
    case 'good':
      return [await newAttempt(payer, payTo)];
    case 'forged':
      return [await newAttempt(payer, payTo, { key: `0x${'66'.repeat(32)}`, from: payer.address })];
    case 'poor':
      await chain.fund([payer.address], USDC_EACH - 1n);
      return [await newAttempt(payer, payTo)];
    case 'late': {
      const validBefore = String(Math.floor(Date.now() / 1000) + 4);
      return [await newAttempt(payer, payTo, { validBefore })];
    }
    case 'twice':
      return [await newAttempt(payer, payTo), await newAttempt(payer, payTo)];
    case 'spent':
    case 'cancelled':
    case 'overtaken': {
      const nonce = randomNonce();
      const query = `lighthouse ${nonce.slice(2, 18)}`;
      meanwhile.set(query, await interference(way, payer, nonce, chain));
      return [await newAttempt(payer, payTo, { nonce, query, validBefore: inFiveMinutes() })];
    }
  }
}

const inFiveMinutes = () => String(Math.floor(Date.now() / 1000) + 300);

async function interference(
  way: 'spent' | 'cancelled' | 'overtaken',
  payer: Payer,
  nonce: Bytes32,
  chain: ReachedChain,
): Promise<() => Promise<unknown>> {
  // Each a stranger of its own, so that no two use one nonce.
  const from: Hex = `0x${nonce.slice(-40)}`;
  await chain.client.setBalance({ address: from, value: parseEther('1') });
  const send = (data: Hex) =>
    chain.client.sendUnsignedTransaction({ from, to: chain.asset, data, gas: 200_000n });
  switch (way) {
    case 'spent':
      return () => chain.fund([payer.address], 0n);
    case 'cancelled': {
      const args = [payer.address, nonce, await chain.cancellation(payer, nonce)] as const;
      const functionName = 'cancelAuthorization';
      const data = encodeFunctionData({ abi: usdcBytesAbi, functionName, args });
      return () => send(data);
    }
    case 'overtaken': {
      const signed = await chain.sign(payer, { value: USDC_EACH, nonce });
      const [call] = transferCalls(signed);
      if (!call) throw new Error('no call');
      return () => send(call.data);
    }
  }
}
