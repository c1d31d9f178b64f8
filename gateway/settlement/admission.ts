import { refuse, type Refusal } from '../domain/refusal.js';
import type { UnixSeconds } from '../domain/units.js';
import { reasons } from '../x402/reasons.js';

/** More payments wait to be settled than may: the next one is refused before its search. */
export function refuseFullQueue(waiting: number, waitingMax: number): Refusal | undefined {
  if (waiting < waitingMax) return undefined;
  return refuse(
    'service_unavailable',
    'Too many payments wait to be settled. Nothing was charged; send the same payment again.',
    { retryAfterSeconds: 2 },
  );
}

/**
 * An authorization that may run out before it is settled is refused before its search: `neededSeconds`
 * are for the search and everything after it.
 */
export function refuseShortWindow(
  validBefore: UnixSeconds,
  nowSeconds: number,
  neededSeconds: number,
): Refusal | undefined {
  const left = validBefore - nowSeconds;
  if (left > neededSeconds) return undefined;
  return refuse(
    'payment_invalid',
    `The authorization expires in ${Math.max(left, 0)} s, but a search and its settlement may ` +
      `take ${neededSeconds} s. Sign one that is valid for longer.`,
    { reason: reasons.validBefore },
  );
}
