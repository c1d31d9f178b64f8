import { sql, type Kysely, type RawBuilder } from 'kysely';
import { leaseSize, type Ask } from '../../ground/domain/lease-size.js';
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

/** A key's budget in one calendar month. */
export interface KeyMonth {
  readonly keyId: string;
  readonly month: number;
  /** Credits in that month. */
  readonly budget: number;
}

/** What one gateway wants of one account. */
export interface Turn {
  readonly accountId: string;
  readonly booking: Booking | undefined;
  readonly credits: Ask;
  readonly budgets: readonly (KeyMonth & { readonly ask: Ask })[];
  /** Other gateways were asked for what they have free; it is waited for what they say. */
  readonly isRecalling: boolean;
}

/** What a share came to. */
export interface Turned {
  /** All of the share, what runs included. */
  readonly units: number;
  /** Another gateway needs what is free here. */
  readonly isRecalled: boolean;
  /** Where more might be, while too few are free: `held` by other gateways that have been asked. */
  readonly more: 'held' | 'none';
}

export interface AccountTurned {
  readonly credits: Turned;
  /** In the order of the turn's. */
  readonly budgets: readonly Turned[];
}

/** Who takes turns, and until when its shares are its own. */
export interface Holder {
  readonly gateway: string;
  readonly now: RawBuilder<bigint>;
  readonly leaseMs: number;
}

/** The place of an account's own credits among its leases. */
export const OWN = { keyId: '', month: 0 } as const;

interface Lease {
  readonly gateway: string;
  readonly keyId: string;
  readonly month: number;
  readonly units: number;
  readonly isRecalled: boolean;
}

type Pool = Pick<Lease, 'keyId' | 'month'>;

/**
 * Takes one gateway's turn at an account: charges what it has answered, and sets its shares of the
 * account's credits and of its keys' budgets anew, larger or smaller. Shares are set to what they
 * shall be and not changed by a difference, so that a turn whose commit was not answered can be
 * taken again.
 */
export async function takeTurn(
  tx: Kysely<AccountTables>,
  turn: Turn,
  holder: Holder,
): Promise<AccountTurned> {
  const { accountId, booking, budgets } = turn;
  const available = await availableOf(tx, accountId);
  const leases = await leasesOf(tx, accountId);
  const dueLines = (await isBooked(tx, booking)) ? [] : (booking?.lines ?? []);

  const mine = unitsOf(leases, OWN, holder.gateway);
  const lines = chargeable(dueLines, available + mine);
  const charged = sum(lines);
  const own = shareOut(turn.credits, available + mine - charged, leases, OWN, holder);
  const usedNow = [];
  const shares: { pool: Pool; before: number; share: ShareOut }[] = [
    { pool: OWN, before: mine, share: own },
  ];
  for (const { keyId, month, budget, ask } of budgets) {
    const pool = { keyId, month };
    const before = unitsOf(leases, pool, holder.gateway);
    const used = await usedOf(tx, keyId, month);
    const spent = sum(lines.filter((line) => line.keyId === keyId && line.budgetMonth === month));
    const share = shareOut(ask, budget - used + before - spent, leases, pool, holder);
    shares.push({ pool, before, share });
    usedNow.push({ keyId, month, used, after: Math.max(0, used - before + spent + share.units) });
  }

  const recalls = turn.isRecalling ? [] : shares.filter(({ share }) => share.isAsking);
  const change = { available: mine - charged - own.units, held: own.units - mine, spent: charged };
  // Whoever writes more than its own leases holds the balance's row first: so nobody waits in a circle.
  const isAlone = own.units === mine && charged === 0 && recalls.length === 0;
  if (!isAlone || usedNow.some(({ used, after }) => used !== after)) {
    await moveBalance(tx, accountId, change);
  }
  await bookTransfers(tx, accountId, booking?.id ?? '', lines, holder.now);
  for (const { keyId, month, used, after } of usedNow) {
    await setUsed(tx, keyId, month, used, after);
  }
  for (const { pool, before, share } of shares) {
    await writeLease(tx, accountId, pool, share, before, holder);
  }
  for (const { pool } of recalls) await recallOthers(tx, accountId, pool, holder);
  const [credits, ...rest] = shares.map(({ pool, share }) =>
    turnedOf(share, leases, pool, turn, holder),
  );
  if (!credits) throw new Error('an account without its own share');
  return { credits, budgets: rest };
}

interface ShareOut {
  readonly units: number;
  /** Searches go on waiting, and other gateways have units on lease. */
  readonly isAsking: boolean;
  readonly isRecalled: boolean;
  readonly isRecallOpen: boolean;
}

function shareOut(
  ask: Ask,
  there: number,
  leases: readonly Lease[],
  pool: Pool,
  { gateway }: Holder,
): ShareOut {
  const others = leases.filter((lease) => isIn(lease, pool) && lease.gateway !== gateway).length;
  const own = leases.find((lease) => isIn(lease, pool) && lease.gateway === gateway);
  const isRecalled = own?.isRecalled ?? false;
  const units = leaseSize(ask, { there, others, isRecalled });
  return {
    units,
    isAsking: units - ask.running < ask.waiting && others > 0,
    isRecalled,
    // What is still free here is given back by the next turn.
    isRecallOpen: isRecalled && ask.keep > ask.waiting,
  };
}

function turnedOf(
  { units, isAsking, isRecalled }: ShareOut,
  leases: readonly Lease[],
  pool: Pool,
  { isRecalling }: Turn,
  { gateway }: Holder,
): Turned {
  const isWaiting = leases.some(
    (lease) => isIn(lease, pool) && lease.gateway !== gateway && lease.isRecalled,
  );
  return { units, isRecalled, more: isAsking && (!isRecalling || isWaiting) ? 'held' : 'none' };
}

const isIn = (lease: Pool, { keyId, month }: Pool) =>
  lease.keyId === keyId && lease.month === month;

const sum = (lines: readonly BookingLine[]) => lines.reduce((total, { count }) => total + count, 0);

function unitsOf(leases: readonly Lease[], pool: Pool, gateway: string): number {
  return leases.find((lease) => isIn(lease, pool) && lease.gateway === gateway)?.units ?? 0;
}

/** As many of the searches as there are credits for. */
function chargeable(lines: readonly BookingLine[], credits: number): readonly BookingLine[] {
  let left = credits;
  return lines.flatMap((line) => {
    const count = Math.min(line.count, left);
    left -= count;
    return count > 0 ? [{ ...line, count }] : [];
  });
}

async function availableOf(tx: Kysely<AccountTables>, accountId: string): Promise<number> {
  const row = await tx
    .selectFrom('credit_balances')
    .select('available')
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  return Number(row?.available ?? 0n);
}

async function leasesOf(tx: Kysely<AccountTables>, accountId: string): Promise<readonly Lease[]> {
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
async function isBooked(tx: Kysely<AccountTables>, booking: Booking | undefined): Promise<boolean> {
  if (!booking || booking.lines.length === 0) return false;
  const row = await tx
    .selectFrom('credit_transfers')
    .select('id')
    .where('id', '=', transferId(booking.id, 0))
    .executeTakeFirst();
  return row !== undefined;
}

const transferId = (bookingId: string, line: number) => `${bookingId}:${line}`;

async function bookTransfers(
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
async function writeLease(
  tx: Kysely<AccountTables>,
  accountId: string,
  { keyId, month }: Pool,
  { units, isRecallOpen }: ShareOut,
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

async function recallOthers(
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
