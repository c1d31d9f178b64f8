import type { Kysely } from 'kysely';
import { address, bytes32 } from '../../ground/domain/units.js';
import type { Address, Bytes32, TransactionHash, UnixMillis } from '../../ground/domain/units.js';
import type { Payment } from './payment.js';
import { type LedgerTables, millis, paymentOf, type PaymentRow } from './tables.js';

/** What a relayer nonce is spent on. */
export type IntentPurpose =
  | 'transfer'
  /** Closes a gap. */
  | 'filler'
  /** Puts the batch contract in its place. */
  | 'deployment'
  /** Claims what channels were charged, and pays out what was claimed. */
  | 'claim'
  /** Gives a payer back what is left in a channel. */
  | 'refund';

/** One use of one relayer nonce: what is to be called, decided before it is signed. */
export interface NewIntent {
  readonly id: string;
  readonly chainId: number;
  readonly relayer: Address;
  /** Contiguous for each relayer. */
  readonly nonce: bigint;
  readonly purpose: IntentPurpose;
  readonly to: Address;
  readonly data: Uint8Array;
  readonly gasLimit: bigint;
}

/** One signed transaction of an intent. */
export interface NewTransaction {
  readonly hash: TransactionHash;
  readonly intentId: string;
  /** The signed bytes, exactly as they are broadcast. */
  readonly raw: Uint8Array;
  /** Wei per gas (EIP-1559). */
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  /** The transaction whose place it takes at the same nonce. */
  readonly replaces?: TransactionHash;
}

interface RecordedTransaction extends NewTransaction {
  readonly signedAt: UnixMillis;
  readonly broadcastAt?: UnixMillis;
  readonly block?: { readonly number: bigint; readonly hash: Bytes32 };
  /** What it cost, once it was mined. */
  readonly cost?: {
    readonly gasUsed: bigint;
    /** Wei per gas. */
    readonly gasPrice: bigint;
    /** Wei for publishing it on the layer below; 0 in books from before that was kept. */
    readonly publishingFee: bigint;
  };
}

/** An intent with everything recorded about it. */
export interface Intent extends NewIntent {
  readonly createdAt: UnixMillis;
  /** In order of signing; at least one. */
  readonly transactions: readonly RecordedTransaction[];
  /** In order of their calls; empty for a filler. */
  readonly payments: readonly Payment[];
  readonly minedHash?: TransactionHash;
}

/** Completes intent rows with their transactions and payments. */
export async function loadIntents(
  db: Kysely<LedgerTables>,
  rows: readonly LedgerTables['intents'][],
): Promise<Intent[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const transactions = await db
    .selectFrom('transactions')
    .selectAll()
    .where('intent_id', 'in', ids)
    .orderBy('signed_at')
    .execute();
  const carried = await db
    .selectFrom('intent_payments')
    .innerJoin('payments', 'payments.id', 'intent_payments.payment_id')
    .selectAll('payments')
    .select('intent_payments.intent_id')
    .where('intent_id', 'in', ids)
    .orderBy('call_index')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    chainId: Number(row.chain_id),
    relayer: address(row.relayer),
    nonce: row.relayer_nonce,
    purpose: purposeOf(row.purpose),
    to: address(row.call_to),
    data: row.call_data,
    gasLimit: BigInt(row.gas_limit),
    createdAt: millis(row.created_at),
    ...(row.mined_hash !== null && { minedHash: bytes32(row.mined_hash) }),
    transactions: transactions.filter((one) => one.intent_id === row.id).map(transactionOf),
    payments: carried
      .filter((one) => one.intent_id === row.id)
      .map((one) => paymentOf(one as PaymentRow)),
  }));
}

const PURPOSES: readonly IntentPurpose[] = ['transfer', 'filler', 'deployment', 'claim', 'refund'];

function purposeOf(text: string): IntentPurpose {
  return PURPOSES.find((purpose) => purpose === text) ?? 'transfer';
}

type TransactionRow = Omit<LedgerTables['transactions'], 'broadcasts'>;

function transactionOf(row: TransactionRow): RecordedTransaction {
  return {
    hash: bytes32(row.hash),
    intentId: row.intent_id,
    raw: row.raw,
    maxFeePerGas: BigInt(row.max_fee_per_gas),
    maxPriorityFeePerGas: BigInt(row.max_priority_fee_per_gas),
    signedAt: millis(row.signed_at),
    ...(row.replaces !== null && { replaces: bytes32(row.replaces) }),
    ...(row.broadcast_at !== null && { broadcastAt: millis(row.broadcast_at) }),
    ...(row.block_number !== null &&
      row.block_hash !== null && {
        block: { number: row.block_number, hash: bytes32(row.block_hash) },
      }),
    ...(row.gas_used !== null &&
      row.gas_price !== null && {
        cost: {
          gasUsed: BigInt(row.gas_used),
          gasPrice: BigInt(row.gas_price),
          publishingFee: BigInt(row.publishing_fee ?? '0'),
        },
      }),
  };
}
