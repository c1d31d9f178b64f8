import { refuse, type Refusal } from '../../ground/domain/refusal.js';

/** Where a caller stands against its rate after one request: what the rate headers say. */
export interface RateState {
  /** The policy's name in the headers. */
  readonly policy: string;
  readonly limit: number;
  readonly windowSeconds: number;
  /** How many more are admitted at once. */
  readonly remaining: number;
  /** Whole seconds, at least 1, until the whole limit is free again. */
  readonly resetSeconds: number;
}

/** Admitted, or refused with `rate_limited`; both with what the rate headers say. */
export type Admission =
  | { readonly kind: 'admitted'; readonly rate: RateState }
  | { readonly kind: 'limited'; readonly rate: RateState; readonly refusal: Refusal };

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers-11: the policy (quota `q` in a window of `w`
 * seconds) and its state (`r` remaining, `t` seconds until it is whole again), plus `Retry-After`
 * (RFC 9110, 10.2.3) on a refusal.
 */
export function rateHeaders(admission: Admission): Readonly<Record<string, string>> {
  const { policy, limit, windowSeconds, remaining, resetSeconds } = admission.rate;
  const headers = {
    'RateLimit-Policy': `"${policy}";q=${limit};w=${windowSeconds}`,
    RateLimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
  };
  if (admission.kind === 'admitted') return headers;
  return { ...headers, 'Retry-After': String(admission.refusal.retryAfterSeconds ?? 1) };
}

export function limited(rate: RateState, waitMs: number, who: string): Admission {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  const span = rate.windowSeconds === 1 ? 'per second' : `in ${rate.windowSeconds} seconds`;
  const detail = `${who} may send ${rate.limit} of these ${span}.`;
  return {
    kind: 'limited',
    rate,
    refusal: refuse('rate_limited', detail, { retryAfterSeconds }),
  };
}
