import type { Hex, TransactionHash, UnixMillis } from '../domain/units.js';
import type { SignedAuthorization } from '../payment/authorization.js';

/** Where a payment stands; derived from its recorded facts, never stored. */
export type PaymentStatus =
  | 'reserved'
  | 'released'
  | 'served'
  | 'signed'
  | 'broadcast'
  | 'settled'
  | 'final'
  | 'reorged'
  | 'failed';

/** SHA-256 over method, path and the validated request: what an authorization was first used for. */
export type RequestBinding = Hex;

/** A reply body that is kept until its payment has settled, and for a stated time after that. */
export interface StoredReply {
  /** The exact bytes of the 200 that were or will be sent. */
  readonly body: Uint8Array;
  readonly contentType: string;
  /** The request id under which the search ran; replays answer with the same one. */
  readonly requestId: string;
}

/** One reservation of an authorization, with every fact recorded about it. */
export interface Payment {
  readonly id: string;
  readonly authorization: SignedAuthorization;
  readonly binding: RequestBinding;
  readonly status: PaymentStatus;
  readonly reservedAt: UnixMillis;
  /** Present once served and until its retention has passed. */
  readonly reply?: StoredReply;
  /** The transaction that carries, or carried, the transfer. */
  readonly transaction?: TransactionHash;
  /** Why it was released or failed: an x402 reason or a refusal code. */
  readonly reason?: string;
}
