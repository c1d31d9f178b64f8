import type { Caller } from '../customers/keys/caller.js';

/** What a request carried to say who pays, before any of it is checked. */
export type Credentials =
  | { readonly kind: 'none' }
  /** The value of the Authorization header, whole. */
  | { readonly kind: 'bearer'; readonly authorization: string }
  /** Somebody whom the edge recognized by itself: an access token is good at its own address only. */
  | { readonly kind: 'account'; readonly caller: Caller }
  /** The value of `PAYMENT-SIGNATURE` (version 2) or `X-PAYMENT` (version 1). */
  | { readonly kind: 'payment'; readonly version: 1 | 2; readonly value: string };

/**
 * The address at which a request came in. The gateway takes keys or payments; the API takes keys
 * only, so that a forgotten key is a 401 there and never a quote.
 */
export type Face = 'gateway' | 'api';
