import type { RelayerFunds } from '../payment/relayer-funds.js';
import type {
  Address,
  Bytes32,
  Hex,
  TransactionHash,
  UnixSeconds,
} from '../../ground/domain/units.js';
import type { KnownCode } from '../payment/payer-code.js';

/**
 * The chain as the settlement needs it. Every method gives up after a deadline of its own and
 * throws when no answer could be had: an answer that is not known is never an answer.
 */
export interface SettlementChain {
  readonly chainId: number;
  /** A block: the newest, the newest that ordinary reorganizations spare, or one by number. */
  block(which: 'latest' | 'safe' | bigint): Promise<ChainBlock>;
  /**
   * The receipts of these transactions, in the same order; undefined where there is none. Some may
   * be of a block that is still being made: see `findCanonical`.
   */
  receipts(hashes: readonly TransactionHash[]): Promise<readonly (Receipt | undefined)[]>;
  /** Hands signed bytes to the chain. What the node says is a hint; receipts decide. */
  broadcast(raw: Uint8Array): Promise<BroadcastAnswer>;
  /** How many nonces of the account are used up in the newest block. */
  nonce(account: Address): Promise<bigint>;
  /** Wei. */
  balance(account: Address): Promise<bigint>;
  /**
   * Wei that publishing a transaction of so many bytes on the layer below costs at most; 0 on a
   * chain that has none.
   */
  publishingFee(transactionBytes: number): Promise<bigint>;
  logs(filter: LogFilter): Promise<readonly ChainLog[]>;
  /**
   * Runs a call at the end of a block, without a transaction: undefined when it succeeds, or the
   * data that it reverts with (`0x` when there is none).
   */
  revertData(
    call: { from: Address; to: Address; data: Uint8Array },
    block: bigint,
  ): Promise<Hex | undefined>;
  /**
   * The gas that a transaction needs to succeed on top of the newest block, with this sender and
   * these fees (wei per gas); undefined when it fails with any gas.
   */
  estimateGas(call: TrialTransaction): Promise<bigint | undefined>;
  /** Whether an account has code in the newest block, and which. */
  payerCode(account: Address): Promise<KnownCode>;
  /** EIP-3009 `authorizationState` as of a block: used or cancelled. */
  isAuthorizationUsed(
    asset: Address,
    authorizer: Address,
    nonce: Bytes32,
    block: bigint,
  ): Promise<boolean>;
}

/** A transaction as it would be sent, to be simulated. */
export interface TrialTransaction {
  readonly from: Address;
  readonly to: Address;
  readonly data: Uint8Array;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export interface BlockFacts {
  readonly number: bigint;
  readonly timestamp: UnixSeconds;
  /** Wei per gas. */
  readonly baseFee: bigint;
  /** The relayers' gas money, where it was asked for along with the block. */
  readonly funds?: RelayerFunds;
}

export interface ChainBlock extends BlockFacts {
  readonly hash: Bytes32;
}

export interface ChainLog {
  readonly address: Address;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  readonly transactionHash: TransactionHash;
  readonly block: { readonly number: bigint; readonly hash: Bytes32 };
}

export interface Receipt {
  readonly hash: TransactionHash;
  readonly block: { readonly number: bigint; readonly hash: Bytes32 };
  readonly succeeded: boolean;
  readonly gasUsed: bigint;
  /** Wei per gas. */
  readonly gasPrice: bigint;
  /** Wei for publishing it on the layer below (`l1Fee` on Base), beyond its gas. */
  readonly publishingFee: bigint;
  readonly logs: readonly ChainLog[];
}

export interface LogFilter {
  readonly address: Address;
  /** By position: any of the list, or anything where null. */
  readonly topics: readonly (readonly Hex[] | null)[];
  readonly fromBlock: bigint;
  /** The newest block when absent. */
  readonly toBlock?: bigint;
}

export type BroadcastAnswer =
  /** The node has it: newly, or it had it already. */
  | { readonly kind: 'accepted' }
  /** The nonce is used up: by this transaction, by its replacement, or by a stranger's. */
  | { readonly kind: 'nonce-used' }
  /** Another transaction of the same nonce waits, and this one does not pay enough more. */
  | { readonly kind: 'underpriced' }
  /** The relayer cannot pay the gas. */
  | { readonly kind: 'out-of-gas-money' }
  | { readonly kind: 'refused'; readonly message: string };
