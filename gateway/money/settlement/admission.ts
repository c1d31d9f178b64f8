import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import type { UnixSeconds } from '../../ground/domain/units.js';
import { reasons } from '../x402/reasons.js';

/** Longest wait that is asked for: a forecast further ahead is worth nothing. */
const RETRY_SECONDS_MAX = 60;

/** Why no payment at all is taken at present. */
export type Closure = 'not-open' | 'out-of-gas-money' | 'facilitator-silent';

const CLOSED: Record<Closure, { readonly why: string; readonly retryAfterSeconds: number }> = {
  'not-open': { why: 'settlement is not open', retryAfterSeconds: 30 },
  'out-of-gas-money': { why: 'the relayer is out of gas money', retryAfterSeconds: 30 },
  'facilitator-silent': { why: 'the facilitator does not answer', retryAfterSeconds: 10 },
};

/** Nobody could move the money: the payment is refused before its search. */
export function refuseClosed(closure: Closure): Refusal {
  const { why, retryAfterSeconds } = CLOSED[closure];
  return refuse(
    'payments_unavailable',
    `Paid searches are unavailable: ${why}. Nothing was charged.`,
    { retryAfterSeconds },
  );
}

/** More payments wait to be settled than may: the next one is refused before its search. */
export function refuseFullQueue(waiting: number, waitingMax: number): Refusal | undefined {
  if (waiting < waitingMax) return undefined;
  return refuse(
    'payments_unavailable',
    'Too many payments are waiting to be settled. Nothing was charged. Send the same payment again.',
    { retryAfterSeconds: 2 },
  );
}

/**
 * A payment that would settle later than its caller waits is refused before anything is done for
 * it. It may be one that was presented before, so nothing is said about charges.
 */
export function refuseLongWait(predictedSeconds: number, waitSeconds: number): Refusal | undefined {
  if (predictedSeconds <= waitSeconds) return undefined;
  const retryAfterSeconds = Math.ceil(predictedSeconds - waitSeconds);
  return refuse(
    'payments_unavailable',
    `Many payments are waiting: this one would take about ${Math.ceil(predictedSeconds)} s to ` +
      'settle. We didn’t process it. Send the same payment again later.',
    { retryAfterSeconds: Math.min(Math.max(retryAfterSeconds, 1), RETRY_SECONDS_MAX) },
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
