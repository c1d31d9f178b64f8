import { keccak256, parseTransaction, serializeTransaction, stringToHex } from 'viem';
import {
  address,
  bytes32,
  type Address,
  type Bytes32,
  type Hex,
} from '../../../gateway/ground/domain/units.js';
import { KEY_TRANSFER_GAS } from '../../../gateway/money/settlement/calls.js';
import type { SimSigner } from '../relayers.js';
import { callContract } from './contracts.js';
import type { CallResult, ChainState, Environment, GasMeter } from './state.js';

/** A transaction that a relayer signed. */
export interface SignedTransaction {
  readonly kind: 'signed';
  readonly hash: Bytes32;
  readonly from: Address;
  readonly nonce: bigint;
  readonly to: Address;
  readonly data: Hex;
  readonly gas: bigint;
  /** Wei per gas. */
  readonly maxFee: bigint;
  readonly tip: bigint;
}

/** What somebody else does: a payer, the token's issuer, a thief of a relayer's key. */
export interface ForeignTransaction {
  readonly kind: 'foreign';
  readonly hash: Bytes32;
  readonly what: string;
  act(state: ChainState, environment: Environment): CallResult;
}

export type Transaction = SignedTransaction | ForeignTransaction;

export function foreign(
  what: string,
  act: ForeignTransaction['act'],
  id: string,
): ForeignTransaction {
  return { kind: 'foreign', hash: bytes32(keccak256(stringToHex(`${what} ${id}`))), what, act };
}

/** Reads signed bytes; undefined when none of these keys signed them. */
export function readSigned(raw: Hex, signers: readonly SimSigner[]): SignedTransaction | undefined {
  const parsed = parseTransaction(raw);
  if (parsed.type !== 'eip1559' || !parsed.to) return undefined;
  const { r, s, yParity, ...unsigned } = parsed;
  const signed = serializeTransaction(unsigned);
  const signer = signers.find((one) => one.seal(signed) === r);
  if (!signer) return undefined;
  return {
    kind: 'signed',
    hash: bytes32(keccak256(raw)),
    from: signer.address,
    nonce: BigInt(parsed.nonce ?? 0),
    to: address(parsed.to),
    data: parsed.data ?? '0x',
    gas: parsed.gas ?? 0n,
    maxFee: parsed.maxFeePerGas ?? 0n,
    tip: parsed.maxPriorityFeePerGas ?? 0n,
  };
}

/** What a transaction did and cost. */
export interface Execution {
  readonly result: CallResult;
  readonly gasUsed: bigint;
  /** Wei per gas. */
  readonly gasPrice: bigint;
  /** Payers whose code used up all gas that it got. */
  readonly burners: ReadonlySet<Address>;
}

const GAS_BASE = 21_000n;
const GAS_LONE_TRANSFER = 85_700n;
const GAS_BATCHED_TRANSFER = 51_000n;

/** Runs a transaction at the end of `state`, which it changes. */
export function execute(
  transaction: Transaction,
  state: ChainState,
  environment: Environment,
): Execution {
  if (transaction.kind === 'foreign') {
    const result = transaction.act(state, environment);
    return { result, gasUsed: GAS_BASE, gasPrice: environment.baseFee, burners: new Set() };
  }
  const { from, to, data, gas, maxFee, tip } = transaction;
  const burners = new Set<Address>();
  const meter: GasMeter = { isExhausted: false, cappedBurns: 0, burners };
  const result = callContract(state, to, data, { ...environment, meter });
  for (const burner of burners) state.delegated.add(burner);
  const transfers = result.ok ? BigInt(Math.floor(result.logs.length / 2)) : 0n;
  const lone = data === '0x' ? GAS_BASE : GAS_LONE_TRANSFER;
  const shared = GAS_BASE + transfers * GAS_BATCHED_TRANSFER;
  const capped = BigInt(meter.cappedBurns) * KEY_TRANSFER_GAS;
  const gasUsed = meter.isExhausted ? gas : (transfers > 1n ? shared : lone) + capped;
  const wanted = environment.baseFee + tip;
  const gasPrice = wanted < maxFee ? wanted : maxFee;
  state.nonces.set(from, transaction.nonce + 1n);
  state.ether.set(from, (state.ether.get(from) ?? 0n) - gasUsed * gasPrice);
  return { result, gasUsed, gasPrice, burners };
}
