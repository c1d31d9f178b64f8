import type { Kysely } from 'kysely';
import { leaseSize, type Ask } from '../../ground/domain/lease-size.js';
import {
  availableOf,
  bookTransfers,
  isBooked,
  leasesOf,
  moveBalance,
  OWN,
  recallOthers,
  setUsed,
  usedOf,
  writeLease,
  type Booking,
  type BookingLine,
  type Holder,
  type Lease,
  type Pool,
} from './lease-rows.js';
import type { AccountTables } from './schema.js';

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
