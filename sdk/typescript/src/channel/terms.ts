import { toHex } from '../eth/bytes.js';
import { digestOf } from '../eth/typed-data.js';
import type { Hex } from '../hex.js';
import type { Requirement } from '../payment/challenge.js';

/** The settlement contract and the deposit collector: the same addresses on every chain. */
export const SETTLEMENT = '0x4020074e9df2ce1dee5a9c1b5c3f541d02a10003';
export const DEPOSIT_COLLECTOR = '0x4020806089470a89826cb9fb1f4059150b550004';

/** What the contract allows, in seconds: a quarter of an hour to thirty days. */
const WITHDRAW_DELAY_SECONDS_MIN = 900;
const WITHDRAW_DELAY_SECONDS_MAX = 2_592_000;

/** A way to pay by a channel, from a challenge; the amount is the price of one search. */
export interface ChannelTerms extends Requirement {
  /** Signs claims and refunds for the payee. */
  readonly receiverAuthorizer: Hex;
  /** Seconds that a payer waits who takes a deposit back alone. */
  readonly withdrawDelay: number;
  /** The least deposit that the gateway takes, in atomic USDC; 0 when it names none. */
  readonly minDepositUnits: bigint;
}

/** Who pays whom: the EIP-712 hash of this is the channel's id, so nothing of it can change. */
export interface ChannelConfig {
  readonly payer: Hex;
  readonly payerAuthorizer: Hex;
  readonly receiver: Hex;
  readonly receiverAuthorizer: Hex;
  readonly token: Hex;
  readonly withdrawDelay: number;
  readonly salt: Hex;
}

const isAddress = (value: unknown): value is Hex =>
  typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value);

/** The channel's side of an entry in `accepts`; undefined when it is not one that can be used. */
export function readTerms(
  common: Requirement,
  extra: Readonly<Record<string, unknown>>,
): ChannelTerms | undefined {
  const { receiverAuthorizer, withdrawDelay, minDeposit = '0' } = extra;
  if (!isAddress(receiverAuthorizer) || /^0x0{40}$/.test(receiverAuthorizer)) return undefined;
  if (typeof withdrawDelay !== 'number' || !Number.isInteger(withdrawDelay)) return undefined;
  if (withdrawDelay < WITHDRAW_DELAY_SECONDS_MIN) return undefined;
  if (withdrawDelay > WITHDRAW_DELAY_SECONDS_MAX) return undefined;
  if (typeof minDeposit !== 'string' || !/^[0-9]{1,38}$/.test(minDeposit)) return undefined;
  return {
    ...common,
    receiverAuthorizer: receiverAuthorizer.toLowerCase() as Hex,
    withdrawDelay,
    minDepositUnits: BigInt(minDeposit),
  };
}

/** The same salt for everybody: a client that lost its store finds its channel again. */
const SALT: Hex = `0x${'0'.repeat(64)}`;

/** The channel of this payer under these terms. */
export function configOf(terms: ChannelTerms, payer: Hex): ChannelConfig {
  return {
    payer,
    payerAuthorizer: payer,
    receiver: terms.payTo,
    receiverAuthorizer: terms.receiverAuthorizer,
    token: terms.asset,
    withdrawDelay: terms.withdrawDelay,
    salt: SALT,
  };
}

/** The EIP-712 domain of everything but a deposit. */
export const settlementDomain = (chainId: number) => ({
  name: 'x402 Batch Settlement',
  version: '1',
  chainId,
  verifyingContract: SETTLEMENT as Hex,
});

const CONFIG_FIELDS = [
  { name: 'payer', type: 'address' },
  { name: 'payerAuthorizer', type: 'address' },
  { name: 'receiver', type: 'address' },
  { name: 'receiverAuthorizer', type: 'address' },
  { name: 'token', type: 'address' },
  { name: 'withdrawDelay', type: 'uint40' },
  { name: 'salt', type: 'bytes32' },
];

/** Ids that were computed: every search asks for one. */
const known = new Map<string, Hex>();
const KNOWN_MAX = 64;

/** The channel's id: the whole typed-data hash, domain included. */
export function channelIdOf(config: ChannelConfig, chainId: number): Hex {
  const key = JSON.stringify([config, chainId]);
  const before = known.get(key);
  if (before) return before;
  if (known.size >= KNOWN_MAX) known.clear();
  const id = toHex(
    digestOf({
      domain: settlementDomain(chainId),
      types: { ChannelConfig: CONFIG_FIELDS },
      primaryType: 'ChannelConfig',
      message: { ...config },
    }),
  );
  known.set(key, id);
  return id;
}
