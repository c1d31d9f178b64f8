/** What a gateway asks for when the size of one of its leases is set anew. */
export interface Ask {
  /** Units that are not free: they are being used, or were so lately that others may not have them. */
  readonly running: number;
  /** Free units that stay, and may be taken while the size is set. */
  readonly keep: number;
  /** Searches that wait for a unit. */
  readonly waiting: number;
  /** Free units that this gateway would like to have. */
  readonly wish: number;
}

/** What a lease can be made of. */
interface Pool {
  /** Units that no other gateway has: those of this lease, and what is on lease to nobody. */
  readonly there: number;
  /** Other gateways with leases. */
  readonly others: number;
  /** Another gateway needs what is free here. */
  readonly isRecalled: boolean;
}

/**
 * How large a lease becomes. Whoever waits is served first. What is taken beyond that is at most
 * half of what is left, divided among those who have leases: so they become smaller as the end
 * comes near, down to the single units that are waited for.
 */
export function leaseSize(
  { running, keep, waiting, wish }: Ask,
  { there, others, isRecalled }: Pool,
): number {
  // Below zero where the lease had lapsed and others have taken what it held.
  const left = Math.max(0, there - running - keep);
  const stored = isRecalled ? 0 : Math.min(wish, keep + Math.floor(left / (2 * (others + 1))));
  const more = Math.min(left, Math.max(0, Math.max(stored, waiting) - keep));
  return Math.max(0, Math.min(there, running + keep + more));
}
