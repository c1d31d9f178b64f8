/** The rows of leases, and of what is booked with them. */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { AccountTables } from './schema.js';

/** Searches of one key that are booked together. */
export interface BookingLine {
  readonly keyId: string;
  /** Set where the searches have counted against the key's budget of that month. */
  readonly budgetMonth: number | null;
  readonly count: number;
}

/** Searches that were answered and are to be charged: once, however often it is tried. */
export interface Booking {
  /** Names its transfers: a booking whose commit was not answered is found again by it. */
  readonly id: string;
  readonly lines: readonly BookingLine[];
}

/** Who takes turns, and until when its shares are its own. */
export interface Holder {
  readonly gateway: string;
  readonly now: RawBuilder<bigint>;
  readonly leaseMs: number;
}

/** The place of an account's own credits among its leases. */
export const OWN = { keyId: '', month: 0 } as const;

/** What a gateway has on lease of one pool. */
export interface Lease {
  readonly gateway: string;
  readonly keyId: string;
  readonly month: number;
  readonly units: number;
  readonly isRecalled: boolean;
}

/** What is leased: an account's credits (`OWN`), or a key's budget in a month. */
export type Pool = Pick<Lease, 'keyId' | 'month'>;

export async function availableOf(tx: Kysely<AccountTables>, accountId: string): Promise<number> {
  const row = await tx
    .selectFrom('credit_balances')
    .select('available')
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  return Number(row?.available ?? 0n);
}

export async function leasesOf(
  tx: Kysely<AccountTables>,
  accountId: string,
): Promise<readonly Lease[]> {
  const rows = await tx
    .selectFrom('credit_leases')
    .select(['gateway', 'key_id', 'month', 'units', 'is_recalled'])
    .where('account_id', '=', accountId)
    .execute();
  return rows.map(({ gateway, key_id, month, units, is_recalled }) => ({
    gateway,
    keyId: key_id,
    month: Number(month),
    units: Number(units),
    isRecalled: is_recalled === 1n,
  }));
}

/** Whether the booking's commit happened when it was tried before. */
export async function isBooked(
  tx: Kysely<AccountTables>,
  booking: Booking | undefined,
): Promise<boolean> {
  if (!booking || booking.lines.length === 0) return false;
  const row = await tx
    .selectFrom('credit_transfers')
    .select('id')
    .where('id', '=', transferId(booking.id, 0))
    .executeTakeFirst();
  return row !== undefined;
}

const transferId = (bookingId: string, line: number) => `${bookingId}:${line}`;

export async function bookTransfers(
  tx: Kysely<AccountTables>,
  accountId: string,
  bookingId: string,
  lines: readonly BookingLine[],
  now: RawBuilder<bigint>,
): Promise<void> {
  for (const [index, { keyId, count }] of lines.entries()) {
    await tx
      .insertInto('credit_transfers')
      .values({
        id: transferId(bookingId, index),
        account_id: accountId,
        key_id: keyId,
        debit: 'available',
        credit: 'spent',
        amount: count,
        cause: 'search',
        created_at: now,
        posted_at: now,
      })
      .execute();
  }
}

export async function moveBalance(
  tx: Kysely<AccountTables>,
  accountId: string,
  change: { available: number; held: number; spent: number },
): Promise<void> {
  const { available, held, spent } = change;
  await tx
    .updateTable('credit_balances')
    .set((set) => ({
      available: set('available', '+', BigInt(available)),
      held: set('held', '+', BigInt(held)),
      spent: set('spent', '+', BigInt(spent)),
    }))
    .where('account_id', '=', accountId)
    .execute();
}

export async function usedOf(
  tx: Kysely<AccountTables>,
  keyId: string,
  month: number,
): Promise<number> {
  const row = await tx
    .selectFrom('key_months')
    .select('used')
    .where('key_id', '=', keyId)
    .where('month', '=', BigInt(month))
    .executeTakeFirst();
  return Number(row?.used ?? 0n);
}

export async function setUsed(
  tx: Kysely<AccountTables>,
  keyId: string,
  month: number,
  before: number,
  used: number,
): Promise<void> {
  if (used === before) return;
  await tx
    .insertInto('key_months')
    .values({ key_id: keyId, month, used })
    .onConflict((conflict) => conflict.columns(['key_id', 'month']).doUpdateSet({ used }))
    .execute();
}

/**
 * Writes a share down, and with it that its gateway lives. A share that was there is updated and not
 * inserted again: if it has been given back meanwhile, that is a conflict, and the turn runs anew.
 */
export async function writeLease(
  tx: Kysely<AccountTables>,
  accountId: string,
  { keyId, month }: Pool,
  { units, isRecallOpen }: { readonly units: number; readonly isRecallOpen: boolean },
  before: number,
  { gateway, now, leaseMs }: Holder,
): Promise<void> {
  const state = {
    units,
    is_recalled: isRecallOpen ? 1n : 0n,
    lapses_at: sql<bigint>`${now} + ${sql.val(BigInt(leaseMs))}`,
  };
  if (before === 0) {
    if (units === 0) return;
    const place = { account_id: accountId, key_id: keyId, month, gateway };
    await tx
      .insertInto('credit_leases')
      .values({ ...place, ...state })
      .execute();
    return;
  }
  if (units > 0) {
    await tx
      .updateTable('credit_leases')
      .set(state)
      .where('account_id', '=', accountId)
      .where('key_id', '=', keyId)
      .where('month', '=', BigInt(month))
      .where('gateway', '=', gateway)
      .execute();
    return;
  }
  await tx
    .deleteFrom('credit_leases')
    .where('account_id', '=', accountId)
    .where('key_id', '=', keyId)
    .where('month', '=', BigInt(month))
    .where('gateway', '=', gateway)
    .execute();
}

export async function recallOthers(
  tx: Kysely<AccountTables>,
  accountId: string,
  { keyId, month }: Pool,
  { gateway }: Holder,
): Promise<void> {
  await tx
    .updateTable('credit_leases')
    .set({ is_recalled: 1n })
    .where('account_id', '=', accountId)
    .where('key_id', '=', keyId)
    .where('month', '=', BigInt(month))
    .where('gateway', '<>', gateway)
    .execute();
}
