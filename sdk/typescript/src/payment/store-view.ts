import type { PaymentRecord } from './record.js';

/** Atomic USDC that counts towards the caps. */
export interface Spent {
  /** Of the last 24 hours. */
  readonly dayUnits: bigint;
  /** Of all records. */
  readonly totalUnits: bigint;
}

/** The store's records, as one change or one look sees them. */
export interface StoreView {
  get(id: string): PaymentRecord | undefined;
  /** The `signing` and `open` payments for exactly this request, oldest first. */
  pending(url: string, body: string): readonly PaymentRecord[];
  /** What counts towards the caps at a time (Unix milliseconds): see `counts`. */
  spent(nowMs: number): Spent;
}

/**
 * Where payments are remembered. The store decides what a restart, or a second client, knows:
 * with a durable one no payment is signed twice and caps hold across processes.
 */
export interface PaymentStore {
  /**
   * Runs `change` with no other change in between, in whichever process, and makes the record that
   * it returns (new, or replacing the one with its id) durable. Resolves with that record, or with
   * undefined when `change` wanted nothing stored. What `change` throws is thrown, and nothing is
   * stored. `change` may run more than once; only its last run counts.
   */
  update(
    change: (view: StoreView) => PaymentRecord | undefined,
  ): Promise<PaymentRecord | undefined>;
  /** Looks at the records as they are now. */
  read<T>(look: (view: StoreView) => T): Promise<T>;
  /** All records, oldest first. */
  list(): Promise<readonly PaymentRecord[]>;
}

/** Closed records beyond this are summed up, so that memory has a limit. */
export const CLOSED_RECORDS_MAX = 10_000;
export const KEPT_MS = 48 * 60 * 60 * 1000;
export const CARRIED = '0xcarried';

/**
 * Sums closed records older than two days into one `paid` record when there are very many, so
 * that the total cap still sees them. Returns the ids to remove and the sum to put.
 */
export function carryOver(
  records: ReadonlyMap<string, PaymentRecord>,
  nowMs: number,
): { remove: string[]; put: PaymentRecord } | undefined {
  if (records.size <= CLOSED_RECORDS_MAX) return undefined;
  const old = [...records.values()].filter(
    (record) =>
      record.createdAtMs < nowMs - KEPT_MS &&
      record.status !== 'open' &&
      record.status !== 'signing',
  );
  const [first] = old;
  if (first === undefined) return undefined;
  const amountUnits = old
    .filter((record) => record.status !== 'released')
    .reduce((sum, record) => sum + record.amountUnits, 0n);
  const put: PaymentRecord = { ...first, id: CARRIED, status: 'paid', amountUnits };
  return { remove: old.map((record) => record.id), put };
}
