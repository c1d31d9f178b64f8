/**
 * Every way in which the service says no. A refusal is a value; a bug throws.
 * The list is closed: the OpenAPI document, the docs and the SDKs are made from it.
 */
export type RefusalNext =
  /** Send the very same payment (or request) again after `retryAfterSeconds`. */
  | 'same-payment'
  /** This payment is of no use for this request; a new one may be signed. */
  | 'new-payment'
  /** Nothing was spent; send the request again later. */
  | 'later'
  /** Sending this request again cannot succeed: change it. */
  | 'never';

interface RefusalKind {
  readonly status: number;
  readonly next: RefusalNext;
}

export const REFUSALS = {
  malformed_request: { status: 400, next: 'never' },
  malformed_payment: { status: 400, next: 'never' },
  ambiguous_credentials: { status: 400, next: 'never' },
  missing_api_key: { status: 401, next: 'never' },
  invalid_api_key: { status: 401, next: 'never' },
  invalid_payment_proof: { status: 401, next: 'never' },
  wallet_sign_in_required: { status: 402, next: 'never' },
  payment_required: { status: 402, next: 'new-payment' },
  payment_invalid: { status: 402, next: 'new-payment' },
  authorization_bound_to_other_request: { status: 402, next: 'new-payment' },
  settlement_failed: { status: 402, next: 'new-payment' },
  insufficient_credits: { status: 402, next: 'later' },
  account_suspended: { status: 403, next: 'never' },
  payer_denied: { status: 403, next: 'never' },
  plan_restricted: { status: 403, next: 'never' },
  not_found: { status: 404, next: 'never' },
  method_not_allowed: { status: 405, next: 'never' },
  request_timeout: { status: 408, next: 'later' },
  payment_identifier_conflict: { status: 409, next: 'never' },
  payload_too_large: { status: 413, next: 'never' },
  unsupported_media_type: { status: 415, next: 'never' },
  unsupported_parameter: { status: 422, next: 'never' },
  invalid_parameter: { status: 422, next: 'never' },
  idempotency_key_reused: { status: 422, next: 'never' },
  rate_limited: { status: 429, next: 'later' },
  internal_error: { status: 500, next: 'later' },
  upstream_error: { status: 502, next: 'later' },
  service_unavailable: { status: 503, next: 'later' },
  payments_unavailable: { status: 503, next: 'later' },
  chain_unavailable: { status: 503, next: 'later' },
  contract_payer_deferred: { status: 503, next: 'later' },
  settlement_pending: { status: 503, next: 'same-payment' },
  idempotency_pending: { status: 503, next: 'later' },
  upstream_timeout: { status: 504, next: 'later' },
} as const satisfies Record<string, RefusalKind>;

export type RefusalCode = keyof typeof REFUSALS;

/** One refused request. */
export interface Refusal {
  readonly kind: 'refusal';
  readonly code: RefusalCode;
  readonly status: number;
  readonly next: RefusalNext;
  /** One or two sentences for a person: what was wrong and what to do. Never holds a secret. */
  readonly detail: string;
  /** Whole seconds, at least 1, for `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** The x402 reason (`error` of the challenge, `errorReason` of the receipt), where one applies. */
  readonly reason?: string;
}

/** Builds a refusal of the closed list. */
export function refuse(
  code: RefusalCode,
  detail: string,
  more: { retryAfterSeconds?: number; reason?: string } = {},
): Refusal {
  return { kind: 'refusal', code, ...REFUSALS[code], detail, ...more };
}

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'refusal';
}
