import type { Bytes32, Hex, TransactionHash, UnixMillis } from '../../ground/domain/units.js';
import type { SignedAuthorization } from '../payment/authorization.js';
import type { CodePayer } from './code-payer.js';
import type { PaymentFacts, PaymentStatus } from './status.js';

/** SHA-256 over method, path and the validated request: what an authorization was first used for. */
export type RequestBinding = Hex;

/** A reply body that is kept until its payment has settled, and for a stated time after that. */
export interface StoredReply {
  /** The exact bytes of the 200 that were or will be sent. */
  readonly body: Uint8Array;
  readonly contentType: string;
  /** The request id under which the search ran; replays answer with the same one. */
  readonly requestId: string;
  /** The generation of the index that was searched, where it is known. */
  readonly generation?: number;
}

/** One reservation of an authorization, with every fact recorded about it. */
export interface Payment {
  readonly id: string;
  readonly authorization: SignedAuthorization;
  readonly binding: RequestBinding;
  readonly status: PaymentStatus;
  readonly facts: PaymentFacts;
  readonly reservedAt: UnixMillis;
  /** The request that reserved it. */
  readonly requestId: string;
  /** The gateway process that runs its search. */
  readonly owner: string;
  /** The payer's own idempotency id, where it sent one. */
  readonly paymentIdentifier?: string;
  /** What is known of the payer's own code, where it runs any: such payments settle alone. */
  readonly codePayer?: CodePayer;
  /** Present once served and until its retention has passed. */
  readonly reply?: StoredReply;
  /** The transaction that carries, or carried, the transfer. */
  readonly transaction?: TransactionHash;
  /** The block that holds the transfer, once settled. */
  readonly block?: { readonly number: bigint; readonly hash: Bytes32 };
  /** How often a transaction carried it and its call failed. */
  readonly failedCalls: number;
  /** Why it was released or failed: an x402 reason or a refusal code. */
  readonly reason?: string;
}
