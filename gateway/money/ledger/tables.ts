import type { Generated } from 'kysely';
import { address, bytes32, unixMillis, unixSeconds, usdcUnits } from '../../ground/domain/units.js';
import type { Hex, UnixMillis } from '../../ground/domain/units.js';
import { codePayerOf } from './code-payer.js';
import { readDeposit } from './deposit.js';
import type { Payment, StoredReply } from './payment.js';
import { type PaymentFacts, statusOf } from './status.js';

/** The ledger's tables as both engines return them; the migrations say why each column exists. */
export interface LedgerTables {
  payments: PaymentsTable;
  intents: IntentsTable;
  intent_payments: { intent_id: string; call_index: bigint; payment_id: string };
  transactions: TransactionsTable;
  gateways: { owner: string; seen_until: bigint };
  code_calls: CodeCallsTable;
  lanes: { chain_id: bigint; relayer: string; owner: string; epoch: bigint };
}

export interface PaymentsTable {
  id: string;
  chain_id: bigint;
  asset: string;
  payer: string;
  nonce: string;
  pay_to: string;
  value: string;
  valid_after_seconds: bigint;
  valid_before_seconds: bigint;
  signature: string;
  binding: string;
  request_id: string;
  owner: string;
  payment_identifier: string | null;
  reserved_at: bigint;
  served_at: bigint | null;
  reply_body: Uint8Array | null;
  reply_content_type: string | null;
  reply_request_id: string | null;
  reply_generation: bigint | null;
  signed_at: bigint | null;
  broadcast_at: bigint | null;
  preconfirmed_at: bigint | null;
  transaction_hash: string | null;
  failed_calls: Generated<bigint>;
  settled_at: bigint | null;
  block_number: bigint | null;
  block_hash: string | null;
  final_at: bigint | null;
  reorged_at: bigint | null;
  released_at: bigint | null;
  failed_at: bigint | null;
  reason: string | null;
  payer_code: string | null;
  gas_limit: bigint | null;
  deposit: string | null;
}

interface CodeCallsTable {
  intent_id: string;
  payment_id: string;
  payer: string;
  code: string;
  gas_wasted: bigint;
  moved: bigint;
  alone: bigint;
  called_at: bigint;
}

interface IntentsTable {
  id: string;
  chain_id: bigint;
  relayer: string;
  relayer_nonce: bigint;
  purpose: string;
  call_to: string;
  call_data: Uint8Array;
  gas_limit: string;
  created_at: bigint;
  mined_at: bigint | null;
  mined_hash: string | null;
}

interface TransactionsTable {
  hash: string;
  intent_id: string;
  raw: Uint8Array;
  max_fee_per_gas: string;
  max_priority_fee_per_gas: string;
  replaces: string | null;
  signed_at: bigint;
  broadcast_at: bigint | null;
  broadcasts: Generated<bigint>;
  mined_at: bigint | null;
  block_number: bigint | null;
  block_hash: string | null;
  succeeded: bigint | null;
  gas_used: string | null;
  gas_price: string | null;
  publishing_fee: string | null;
}

/** A row with every column present, as a query returns it. */
export type PaymentRow = Omit<PaymentsTable, 'failed_calls'> & { failed_calls: bigint };

export function millis(value: bigint): UnixMillis {
  return unixMillis(Number(value));
}

/** The facts of a row; what did not happen is absent. */
function factsOf(row: PaymentRow): PaymentFacts {
  return {
    reservedAt: millis(row.reserved_at),
    ...(row.served_at !== null && { servedAt: millis(row.served_at) }),
    ...(row.signed_at !== null && { signedAt: millis(row.signed_at) }),
    ...(row.broadcast_at !== null && { broadcastAt: millis(row.broadcast_at) }),
    ...(row.preconfirmed_at !== null && { preconfirmedAt: millis(row.preconfirmed_at) }),
    ...(row.settled_at !== null && { settledAt: millis(row.settled_at) }),
    ...(row.final_at !== null && { finalAt: millis(row.final_at) }),
    ...(row.reorged_at !== null && { reorgedAt: millis(row.reorged_at) }),
    ...(row.released_at !== null && { releasedAt: millis(row.released_at) }),
    ...(row.failed_at !== null && { failedAt: millis(row.failed_at) }),
  };
}

function replyOf(row: PaymentRow): StoredReply | undefined {
  if (!row.reply_body || !row.reply_content_type || !row.reply_request_id) return undefined;
  return {
    body: row.reply_body,
    contentType: row.reply_content_type,
    requestId: row.reply_request_id,
    ...(row.reply_generation !== null && { generation: Number(row.reply_generation) }),
  };
}

/** A row of the books as the rest of the gateway knows it. */
export function paymentOf(row: PaymentRow): Payment {
  const facts = factsOf(row);
  const reply = replyOf(row);
  const codePayer = codePayerOf(row.payer_code, row.gas_limit);
  const deposit = row.deposit === null ? undefined : readDeposit(row.deposit);
  return {
    id: row.id,
    authorization: {
      chainId: Number(row.chain_id),
      asset: address(row.asset),
      from: address(row.payer),
      to: address(row.pay_to),
      value: usdcUnits(BigInt(row.value)),
      validAfter: unixSeconds(Number(row.valid_after_seconds)),
      validBefore: unixSeconds(Number(row.valid_before_seconds)),
      nonce: bytes32(row.nonce),
      signature: row.signature as Hex,
      ...(deposit && { deposit }),
    },
    binding: row.binding as Hex,
    status: statusOf(facts),
    facts,
    reservedAt: facts.reservedAt,
    requestId: row.request_id,
    owner: row.owner,
    failedCalls: Number(row.failed_calls),
    ...(row.payment_identifier !== null && { paymentIdentifier: row.payment_identifier }),
    ...(reply && { reply }),
    ...(codePayer && { codePayer }),
    ...(row.transaction_hash !== null && { transaction: bytes32(row.transaction_hash) }),
    ...(row.block_number !== null &&
      row.block_hash !== null && {
        block: { number: row.block_number, hash: bytes32(row.block_hash) },
      }),
    ...(row.reason !== null && { reason: row.reason }),
  };
}
