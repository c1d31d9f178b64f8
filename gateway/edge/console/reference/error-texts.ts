import type { RefusalCode } from '../../../ground/domain/refusal.js';

/** What each refusal means and what to do about it; `docs/errors.md` has the same table. */
export const ERROR_TEXTS: Readonly<
  Record<RefusalCode, { readonly what: string; readonly next: string }>
> = {
  malformed_request: {
    what: "The body isn't valid JSON, or the request isn't valid HTTP",
    next: 'Fix the request',
  },
  malformed_payment: {
    what: "The payment header isn't canonical base64 of a payment, or was sent twice",
    next: 'Fix the client',
  },
  ambiguous_credentials: {
    what: 'The request has both an API key and a payment',
    next: 'Send only one of them',
  },
  missing_api_key: {
    what: 'No key on a port that takes keys only',
    next: 'Send `Authorization: Bearer …`',
  },
  invalid_api_key: {
    what: 'The key is mistyped, unknown, expired or revoked',
    next: 'Check the key',
  },
  invalid_payment_proof: {
    what: "`PAYMENT-PROOF` is missing, too old, or not from the payment's payer",
    next: 'Sign a new proof',
  },
  wallet_sign_in_required: {
    what: '`SIGN-IN-WITH-X` is missing, too old, used already, or not for this path',
    next: 'Sign the challenge of the reply',
  },
  payment_required: {
    what: 'No key and no payment',
    next: 'Pay what `PAYMENT-REQUIRED` says, or send a key',
  },
  payment_invalid: {
    what: "The payment can't be accepted; `error` in the new challenge says why",
    next: 'Sign a new one',
  },
  authorization_bound_to_other_request: {
    what: 'The authorization was first used for another search',
    next: 'Sign a new one',
  },
  settlement_failed: {
    what: 'The transfer failed, and `PAYMENT-RESPONSE` says why; no results',
    next: 'Sign a new one',
  },
  insufficient_credits: {
    what: 'The account has no credits left',
    next: 'Top up, or pay per search',
  },
  account_suspended: { what: 'The account is suspended', next: 'Ask the operator' },
  plan_restricted: {
    what: "The account's agreed plan has ended",
    next: 'Change the plan, or ask the operator to renew it',
  },
  not_found: { what: 'This path does not exist', next: 'Use `POST /search`' },
  method_not_allowed: {
    what: 'The method is not allowed; `Allow` names the right one',
    next: 'Use `POST`',
  },
  request_timeout: { what: 'The request did not arrive in time', next: 'Send it again' },
  payment_identifier_conflict: {
    what: 'The payment identifier was used for another request',
    next: 'Choose a new identifier',
  },
  payload_too_large: { what: 'The body is longer than 16 KiB', next: 'Send less' },
  unsupported_media_type: {
    what: 'The body is not `application/json` in UTF-8, or is compressed',
    next: 'Set the content type',
  },
  unsupported_parameter: { what: 'Unknown parameter; `detail` names it', next: 'Remove it' },
  invalid_parameter: {
    what: 'A parameter is missing, has the wrong type or is out of range',
    next: 'Fix it',
  },
  idempotency_key_reused: {
    what: 'The `Idempotency-Key` was used for another search',
    next: 'Use a new key for each search',
  },
  rate_limited: { what: 'Too many requests', next: 'Wait for `Retry-After` seconds' },
  internal_error: { what: 'An error on our side', next: 'Send it again' },
  upstream_error: { what: 'The search engine failed', next: 'Send it again' },
  service_unavailable: {
    what: 'The service is busy, starting or stopping',
    next: 'Wait for `Retry-After` seconds',
  },
  payments_unavailable: {
    what: "Payments can't be accepted: too many are waiting, or gas money is short; API keys still work",
    next: 'Wait, then send the same payment again',
  },
  chain_unavailable: {
    what: "The chain can't be reached, so payments can't be accepted; API keys still work",
    next: 'Wait, then send the same payment again',
  },
  contract_payer_deferred: {
    what: 'The payer is an account with code that has a payment open, burned gas, or shares a used-up budget',
    next: 'Wait, or pay from an account without code',
  },
  settlement_pending: {
    what: 'The transfer was sent and its outcome is not known yet',
    next: 'Send the same payment again',
  },
  idempotency_pending: {
    what: 'The first search with this `Idempotency-Key` is still running',
    next: 'Send the same request again',
  },
  upstream_timeout: { what: 'The search took too long', next: 'Send it again' },
};
