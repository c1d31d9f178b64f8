import {
  statusOf,
  type PaymentFacts,
  type PaymentStatus,
} from '../../gateway/money/ledger/status.js';
import { unixMillis } from '../../gateway/ground/domain/units.js';
import type { Disk } from './disk.js';

/** A payment as the books have it in the end. */
export interface Row {
  readonly id: string;
  readonly nonce: string;
  readonly payer: string;
  readonly status: PaymentStatus;
  readonly facts: PaymentFacts;
  readonly transaction: string | null;
  readonly body: string | undefined;
  readonly failedCalls: number;
}

type Sql = Record<string, unknown>;

const FACTS = {
  served_at: 'servedAt',
  signed_at: 'signedAt',
  broadcast_at: 'broadcastAt',
  preconfirmed_at: 'preconfirmedAt',
  settled_at: 'settledAt',
  final_at: 'finalAt',
  reorged_at: 'reorgedAt',
  released_at: 'releasedAt',
  failed_at: 'failedAt',
} as const;

/** When each step of a payment was taken, of a row of its table or its history. */
export function factsOf(row: Sql): PaymentFacts {
  const facts: Record<string, unknown> = { reservedAt: unixMillis(Number(row.reserved_at)) };
  for (const [column, fact] of Object.entries(FACTS)) {
    const value = row[column];
    if (value !== null) facts[fact] = unixMillis(Number(value));
  }
  return facts as unknown as PaymentFacts;
}

/** All payments of the books, the oldest reservation first. */
export function rowsOf(disk: Disk): Row[] {
  return disk.query('select * from payments order by reserved_at, id').map((row) => {
    const facts = factsOf(row);
    const body = row.reply_body;
    return {
      id: String(row.id),
      nonce: String(row.nonce),
      payer: String(row.payer),
      status: statusOf(facts),
      facts,
      transaction: row.transaction_hash as string | null,
      body: body instanceof ArrayBuffer ? Buffer.from(body).toString('utf8') : undefined,
      failedCalls: Number(row.failed_calls),
    };
  });
}
