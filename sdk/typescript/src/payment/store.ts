import type { PaymentRecord } from './record.js';

/** The present records by id, oldest first. */
export type Records = ReadonlyMap<string, PaymentRecord>;

/**
 * Where payments are remembered. The store decides what a restart, or a second client, knows:
 * with a durable one no payment is signed twice and caps hold across processes.
 */
export interface PaymentStore {
  /**
   * Runs `change` on the present records with no other change in between, and makes the record
   * that it returns (new, or replacing the one with its id) durable before it resolves. What
   * `change` throws is thrown, and nothing is stored. `change` may run more than once.
   */
  update(change: (records: Records) => PaymentRecord | undefined): Promise<void>;
  /** All records, oldest first. */
  list(): Promise<readonly PaymentRecord[]>;
}

/** Closed records beyond this are summed up, so that memory has a limit. */
const CLOSED_RECORDS_MAX = 10_000;
const KEPT_MS = 48 * 60 * 60 * 1000;
const CARRIED = '0xcarried';

/**
 * Sums closed records older than two days into one `paid` record when there are very many, so
 * that the total cap still sees them. Returns the ids to remove and the sum to put.
 */
export function carryOver(
  records: Records,
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

/** Keeps payments while the process lives; the default. */
export class MemoryStore implements PaymentStore {
  readonly #records = new Map<string, PaymentRecord>();

  update(change: (records: Records) => PaymentRecord | undefined): Promise<void> {
    try {
      const put = change(this.#records);
      if (put) {
        this.#records.set(put.id, put);
        const carried = carryOver(this.#records, put.createdAtMs);
        for (const id of carried?.remove ?? []) this.#records.delete(id);
        if (carried) this.#records.set(carried.put.id, carried.put);
      }
      return Promise.resolve();
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  list(): Promise<readonly PaymentRecord[]> {
    return Promise.resolve([...this.#records.values()]);
  }
}
