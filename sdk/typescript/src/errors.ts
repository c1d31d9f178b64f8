import { plain } from './jsonable.js';
import type { PaymentRecord, Quote } from './payment/record.js';

/** The service's closed list of `code` values. */
export const ERROR_CODES = [
  'malformed_request',
  'malformed_payment',
  'ambiguous_credentials',
  'missing_api_key',
  'invalid_api_key',
  'invalid_payment_proof',
  'wallet_sign_in_required',
  'payment_required',
  'payment_invalid',
  'authorization_bound_to_other_request',
  'settlement_failed',
  'insufficient_credits',
  'account_suspended',
  'payer_denied',
  'plan_restricted',
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'payment_identifier_conflict',
  'payload_too_large',
  'unsupported_media_type',
  'unsupported_parameter',
  'invalid_parameter',
  'idempotency_key_reused',
  'rate_limited',
  'internal_error',
  'upstream_error',
  'service_unavailable',
  'payments_unavailable',
  'chain_unavailable',
  'contract_payer_deferred',
  'settlement_pending',
  'idempotency_pending',
  'upstream_timeout',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** A payment as errors, hooks and logs show it: without the signed header. */
export type PaymentView = Omit<PaymentRecord, 'header' | 'body'>;

/** Everything that this package throws on purpose. */
export class Search402Error extends Error {
  override readonly name: string = 'Search402Error';
  /**
   * The payment that this call had signed, if any. Status `open` means that its outcome is not
   * known: make the same call again and the same payment is sent, never a second one.
   */
  payment?: PaymentView;

  /** What `JSON.stringify` shows: for logs and for agents. Without headers, which may be secret. */
  toJSON(): Record<string, unknown> {
    const { name, message } = this;
    const members = Object.entries(this).filter(([member]) => SHOWN.has(member));
    return plain({ error: name, message, ...Object.fromEntries(members) }) as Record<
      string,
      unknown
    >;
  }
}

/** What an error's JSON holds, where the error has it. */
const SHOWN: ReadonlySet<string> = new Set([
  ...['status', 'code', 'title', 'detail', 'requestId', 'retryAfterSeconds', 'reason', 'quote'],
  ...['cap', 'limitUnits', 'spentUnits', 'amountUnits', 'payment'],
]);

/** The options or the environment are wrong; nothing was sent. */
export class ConfigurationError extends Search402Error {
  override readonly name = 'ConfigurationError';
}

/** No complete answer arrived: refused, reset, cut off in the middle, DNS, TLS. */
export class ConnectionError extends Search402Error {
  override readonly name: string = 'ConnectionError';
}

/** No complete answer arrived within `timeoutMs`. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError';
}

/** The caller's signal ended the call. */
export class AbortedError extends Search402Error {
  override readonly name = 'AbortedError';
}

/** An answer arrived that breaks the protocol. */
export class ProtocolError extends Search402Error {
  override readonly name = 'ProtocolError';
}

/** What an error answer held. */
export interface ApiErrorFields {
  readonly status: number;
  readonly code?: string | undefined;
  readonly title?: string | undefined;
  readonly detail?: string | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly headers: Headers;
  readonly body: unknown;
}

/** The service answered with an error status. */
export class ApiError extends Search402Error {
  override readonly name: string = 'ApiError';
  readonly status: number;
  /** One of {@link ERROR_CODES}; undefined when something other than the service answered. */
  readonly code: ErrorCode | (string & {}) | undefined;
  readonly title: string | undefined;
  readonly detail: string | undefined;
  /** Quote it when you ask for support. */
  readonly requestId: string | undefined;
  /** From the `Retry-After` header. */
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Headers;
  /** The parsed JSON body, or its text. */
  readonly body: unknown;

  constructor(fields: ApiErrorFields) {
    const what = fields.detail ?? fields.title ?? 'no explanation was given';
    const code = fields.code === undefined ? '' : ` ${fields.code}`;
    super(`${fields.status}${code}: ${what}`);
    this.status = fields.status;
    this.code = fields.code;
    this.title = fields.title;
    this.detail = fields.detail;
    this.requestId = fields.requestId;
    this.retryAfterSeconds = fields.retryAfterSeconds;
    this.headers = fields.headers;
    this.body = fields.body;
  }
}

/** 400 */
export class BadRequestError extends ApiError {
  override readonly name = 'BadRequestError';
}
/** 401: the key is missing or wrong. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError';
}
/** 402: credits are used up, or a payment is asked for or was refused. */
export class PaymentRequiredError extends ApiError {
  override readonly name = 'PaymentRequiredError';
  /** What the gateway asks for, when it sent a readable challenge. */
  quote?: Quote;
  /** Why the gateway refused the payment, in the protocol's words. */
  reason?: string;
}
/** 403 */
export class PermissionDeniedError extends ApiError {
  override readonly name = 'PermissionDeniedError';
}
/** 404 */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError';
}
/** 405 */
export class MethodNotAllowedError extends ApiError {
  override readonly name = 'MethodNotAllowedError';
}
/** 408 */
export class RequestTimeoutError extends ApiError {
  override readonly name = 'RequestTimeoutError';
}
/** 409 */
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError';
}
/** 413 */
export class PayloadTooLargeError extends ApiError {
  override readonly name = 'PayloadTooLargeError';
}
/** 415 */
export class UnsupportedMediaTypeError extends ApiError {
  override readonly name = 'UnsupportedMediaTypeError';
}
/** 422: a parameter is unsupported, out of bounds or of the wrong type. */
export class UnprocessableContentError extends ApiError {
  override readonly name = 'UnprocessableContentError';
}
/** 429 */
export class RateLimitError extends ApiError {
  override readonly name = 'RateLimitError';
}
/** Any 5xx. */
export class ServerError extends ApiError {
  override readonly name: string = 'ServerError';
}
/** 503 `settlement_pending`: paid or not is not known yet; make the same call again. */
export class SettlementPendingError extends ServerError {
  override readonly name = 'SettlementPendingError';
}

const BY_STATUS: Readonly<Record<number, new (fields: ApiErrorFields) => ApiError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  402: PaymentRequiredError,
  403: PermissionDeniedError,
  404: NotFoundError,
  405: MethodNotAllowedError,
  408: RequestTimeoutError,
  409: ConflictError,
  413: PayloadTooLargeError,
  415: UnsupportedMediaTypeError,
  422: UnprocessableContentError,
  429: RateLimitError,
};

/** The error class for a status and code. */
export function apiError(fields: ApiErrorFields): ApiError {
  if (fields.code === 'settlement_pending') return new SettlementPendingError(fields);
  const Kind = BY_STATUS[fields.status] ?? (fields.status >= 500 ? ServerError : ApiError);
  return new Kind(fields);
}

/** This package, or the caller's limits, refused to pay; nothing was signed for this try. */
export class PaymentError extends Search402Error {
  override readonly name: string = 'PaymentError';
}

/** Paying would exceed a cap. */
export class CapExceededError extends PaymentError {
  override readonly name = 'CapExceededError';
  constructor(
    /** Which cap. */
    readonly cap: 'maxPerRequest' | 'maxPerDay' | 'maxTotal' | 'maxDeposit',
    /** The cap in atomic USDC. */
    readonly limitUnits: bigint,
    /** What counts towards it already. */
    readonly spentUnits: bigint,
    /** What this request would add. */
    readonly amountUnits: bigint,
    message: string,
  ) {
    super(message);
  }
}

/** The quote is for a network, asset or payee that is not on the caller's lists. */
export class PaymentNotAllowedError extends PaymentError {
  override readonly name = 'PaymentNotAllowedError';
}

/** The wallet did not sign. */
export class SigningError extends PaymentError {
  override readonly name = 'SigningError';
}

/**
 * A payment was used on chain, or may have been, and the gateway no longer gives the reply for it.
 * It counts towards the caps. Nothing new was signed; the next call for the same search does.
 */
export class PaymentLostError extends PaymentError {
  override readonly name = 'PaymentLostError';
}
