import type { ChainAllowance } from '../ground/domain/allowance.js';
import type { Clock } from '../ground/domain/ports.js';
import { isRefusal, refuse, type Refusal } from '../ground/domain/refusal.js';
import { toSeconds, type Bytes32, type TransactionHash } from '../ground/domain/units.js';
import type { Payment, StoredReply } from '../money/ledger/payment.js';
import type { PaymentStatus } from '../money/ledger/status.js';
import type { AuthorizationKey } from '../money/payment/authorization.js';
import type { AuthorizationState } from '../money/payment/authorization-state.js';
import {
  decodeStatusProof,
  type CheckStatusProof,
  type StatusProof,
} from '../money/payment/status-proof.js';
import type { Receipt } from '../money/x402/receipt.js';
import { isSealed } from './keeping.js';
import { soldOf, type Sold } from './reply.js';

/** What the payer of an authorization is told about it. */
export interface PaymentReport {
  readonly payer: string;
  readonly nonce: string;
  readonly status: 'unknown' | 'reserved' | 'pending' | 'settled' | 'failed' | 'released';
  readonly transaction?: TransactionHash;
  /** False only where books and chain together prove that it was not and will not be charged. */
  readonly mayBeCharged: boolean;
  /** Whether its reply can be fetched now. */
  readonly replayable: boolean;
  /** What the chain's safe head says; absent while the chain is out of reach. */
  readonly authorizationUsed?: boolean;
  /** Unix seconds of that block. */
  readonly chainTime?: number;
}

export interface PaymentStatusParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly checkProof: CheckStatusProof;
  /** The authorization in the service's own token. */
  keyOf(proof: StatusProof): AuthorizationKey;
  find(key: AuthorizationKey): Promise<Payment | undefined>;
  /** What a settled payment bought beside a search, for its payer; undefined where it did not. */
  bought(payment: Payment): Promise<StoredReply | Refusal | undefined>;
  authorizationState(key: AuthorizationKey): Promise<AuthorizationState | undefined>;
}

/**
 * Answers a payer, and nobody else, about one authorization. Nobody pays for asking, so each
 * question to the chain is taken from the caller's allowance first.
 */
export interface PaymentInquiry {
  status(
    nonce: Bytes32,
    proof: string | undefined,
    allowance: ChainAllowance,
  ): Promise<PaymentReport | Refusal>;
  /** The reply that was paid for, with its receipt; `not_found` where none is kept. */
  reply(
    nonce: Bytes32,
    proof: string | undefined,
    allowance: ChainAllowance,
  ): Promise<
    { readonly reply: StoredReply; readonly receipt: Receipt; readonly sold: Sold } | Refusal
  >;
}

export function createPaymentInquiry(parts: PaymentStatusParts): PaymentInquiry {
  const prove = async (
    nonce: Bytes32,
    header: string | undefined,
    allowance: ChainAllowance,
  ): Promise<AuthorizationKey | Refusal> => {
    const proof = decodeStatusProof(header ?? '');
    if (proof?.nonce !== nonce) return WRONG_PROOF;
    const outcome = await parts.checkProof(proof, toSeconds(parts.clock.now()), allowance);
    if (isRefusal(outcome)) return outcome;
    if (outcome === 'unknown') return OUT_OF_REACH;
    return outcome === 'yes' ? parts.keyOf(proof) : WRONG_PROOF;
  };

  /** The reply that can be fetched now. A search's is in the books, a pack's is made again. */
  const replyOf = async (payment: Payment): Promise<StoredReply | undefined> => {
    if (payment.status !== 'settled' && payment.status !== 'final') return undefined;
    const bought = await parts.bought(payment);
    if (isRefusal(bought)) return undefined;
    if (bought) return bought;
    // A sealed reply opens for the request that it answers, and for nothing else.
    return payment.reply && !isSealed(payment.reply.body) ? payment.reply : undefined;
  };

  return {
    status: async (nonce, header, allowance) => {
      const key = await prove(nonce, header, allowance);
      if (isRefusal(key)) return key;
      const refusal = allowance.take(1);
      if (refusal) return refusal;
      // The chain first: what settles in between is then seen in the books.
      const state = await parts.authorizationState(key);
      const payment = await parts.find(key);
      const reply = payment && (await replyOf(payment));
      return reportOf(key, payment, { state, isReplayable: reply !== undefined });
    },
    reply: async (nonce, header, allowance) => {
      const key = await prove(nonce, header, allowance);
      if (isRefusal(key)) return key;
      const payment = await parts.find(key);
      const reply = payment && (await replyOf(payment));
      if (!payment?.transaction || !reply) return NO_REPLY;
      const { chainId, from: payer, value: amount } = payment.authorization;
      const { transaction } = payment;
      const sold = soldOf({ binding: payment.binding, at: payment.reservedAt }, reply);
      return { reply, receipt: { chainId, payer, transaction, amount }, sold };
    },
  };
}

const SPOKEN: Readonly<Record<PaymentStatus, PaymentReport['status']>> = {
  reserved: 'reserved',
  released: 'released',
  served: 'pending',
  signed: 'pending',
  broadcast: 'pending',
  preconfirmed: 'pending',
  reorged: 'pending',
  settled: 'settled',
  final: 'settled',
  failed: 'failed',
};

function reportOf(
  { from, nonce }: AuthorizationKey,
  payment: Payment | undefined,
  { state, isReplayable }: { state: AuthorizationState | undefined; isReplayable: boolean },
): PaymentReport {
  const status = payment ? SPOKEN[payment.status] : 'unknown';
  const transaction = payment?.transaction;
  return {
    payer: from,
    nonce,
    status,
    ...(transaction && { transaction }),
    mayBeCharged: mayBeCharged(payment, state),
    replayable: isReplayable,
    ...(state && { authorizationUsed: state.isUsed, chainTime: state.at }),
  };
}

/**
 * Whoever holds a signed authorization can execute it while its window is open, so only a window
 * that closed unused, below the safe head, and a failure that is final say no.
 */
function mayBeCharged(
  payment: Payment | undefined,
  state: AuthorizationState | undefined,
): boolean {
  if (!payment || payment.facts.settledAt !== undefined || state?.isUsed === true) return true;
  const { failedAt, finalAt } = payment.facts;
  if (failedAt !== undefined && finalAt !== undefined) return false;
  return !(state && state.at >= payment.authorization.validBefore);
}

const WRONG_PROOF = refuse(
  'invalid_payment_proof',
  'Only the payer can ask about a payment. Send a PAYMENT-PROOF header: the payer’s signature ' +
    'over this nonce for this address, at most five minutes old.',
);

const OUT_OF_REACH = refuse(
  'chain_unavailable',
  'The chain can’t be reached, so we can’t check the wallet’s signature. Try again.',
  { retryAfterSeconds: 2 },
);

const NO_REPLY = refuse('not_found', 'There’s no stored reply for this payment.');
