import type { SearchRequest } from '../../search-core/contract.js';
import { isRefusal, refuse, type Refusal } from '../domain/refusal.js';
import type { Payment, RequestBinding, StoredReply } from '../ledger/payment.js';
import {
  keyText,
  type AuthorizationKey,
  type CheckedAuthorization,
  type SignedAuthorization,
} from '../payment/authorization.js';
import type { SettlementOutcome } from '../settlement/outcome.js';
import type { RunContext, RunSearch } from './answer.js';
import { createFlights } from './flights.js';
import { refused, type SearchReply } from './reply.js';

/** Is this authorization good? The free rules first, the chain only after the ledger was asked. */
export interface Verifier<Presented, Confirmed> {
  /** Everything that needs no I/O and holds at any time: payee, token, signature of a key. */
  check(presented: Presented): Promise<CheckedAuthorization | Refusal>;
  /** For a new payment: price, window, and what only the chain knows. */
  confirm(authorization: CheckedAuthorization): Promise<Confirmed | Refusal>;
}

/** The books, as one paid search sees them. */
export interface PaymentLedger {
  /** The payment of this authorization that was not released, if there is one. */
  find(key: AuthorizationKey): Promise<Payment | undefined>;
  /**
   * Of all concurrent calls for one authorization, over all gateways, exactly one reserves.
   * `identified`: the payer's own identifier names that payment, by another authorization.
   */
  reserve(
    authorization: SignedAuthorization,
    binding: RequestBinding,
    requestId: string,
    paymentIdentifier: string | undefined,
  ): Promise<{ kind: 'reserved' | 'exists' | 'identified'; payment: Payment }>;
  /** Gives a reservation back before anything was signed; the authorization may be used again. */
  release(paymentId: string, reason: string): Promise<unknown>;
  /** Records the reply durably; from here on the payment will be settled, whoever is left. */
  serve(paymentId: string, reply: StoredReply): Promise<{ kind: 'done' | 'refused' }>;
}

/** Moving the money, as one paid search sees it. */
export interface PaymentSettlement {
  /** Why no new paid work is taken now, if it is not. */
  admits(authorization: SignedAuthorization): Refusal | undefined;
  /** Settles a served payment; says `pending` after `waitMs` while the work goes on. */
  settle(paymentId: string, options: { waitMs: number }): Promise<SettlementOutcome>;
  /** Waits for the outcome of a payment that somebody else serves. */
  outcome(paymentId: string, options: { waitMs: number }): Promise<SettlementOutcome>;
}

export interface PaidSearchParts<Presented, Confirmed> {
  /** The payer's own id of the payment (x402 extension payment-identifier), where it sent one. */
  identifierOf(presented: Presented): string | undefined;
  readonly verifier: Verifier<Presented, Confirmed>;
  readonly ledger: PaymentLedger;
  readonly settlement: PaymentSettlement;
  /** How long a caller waits for the chain before it is told `settlement_pending`. */
  readonly settlementWaitMs: number;
}

/** What is bought, by an authorization that has passed every check that needs no I/O. */
interface Purchase<Asked> {
  readonly authorization: CheckedAuthorization;
  readonly identifier: string | undefined;
  readonly binding: RequestBinding;
  readonly request: Asked;
  readonly run: (request: Asked, context: RunContext) => ReturnType<RunSearch>;
  readonly requestId: string;
}

/** Seconds after which a caller is asked to send the same payment again: one Base block. */
const RETRY_SECONDS = 2;

/**
 * Verify and reserve, search, settle, reply. However often and wherever one authorization is
 * presented, one search is run for it, one transfer is made, and every presenter gets one reply.
 */
export function createPaidSearch<Presented, Confirmed extends object, Asked = SearchRequest>(
  parts: PaidSearchParts<Presented, Confirmed>,
) {
  const { verifier, ledger, settlement } = parts;
  const flights = createFlights<SearchReply>();
  const wait = { waitMs: parts.settlementWaitMs };

  const buy = async (purchase: Purchase<Asked>, signal: AbortSignal): Promise<SearchReply> => {
    const { authorization, binding, requestId } = purchase;
    const known = await ledger.find(authorization);
    if (known) return replay(known, purchase);
    const refusal =
      settlement.admits(authorization) ?? asRefusal(await verifier.confirm(authorization));
    if (refusal) return refused(requestId, refusal);
    const { identifier } = purchase;
    const { kind, payment } = await ledger.reserve(authorization, binding, requestId, identifier);
    switch (kind) {
      case 'reserved':
        return serve(payment, purchase, { requestId, signal });
      case 'exists':
        return replay(payment, purchase);
      case 'identified':
        // The chain has just judged this payer's signature; the new authorization is not used.
        if (payment.binding !== binding) return refused(requestId, CONFLICT);
        return concludeOther(payment, requestId);
    }
  };

  const serve = async (
    payment: Payment,
    { request, run }: Purchase<Asked>,
    context: RunContext,
  ): Promise<SearchReply> => {
    const { requestId } = context;
    const answer = await run(request, context).catch(async (bug: unknown) => {
      await ledger.release(payment.id, 'internal_error');
      throw bug;
    });
    if (answer.kind === 'refusal') {
      await ledger.release(payment.id, answer.code);
      return refused(requestId, answer);
    }
    const reply = { body: answer.body, contentType: 'application/json', requestId };
    const served = await ledger.serve(payment.id, reply);
    // Only a reservation that was taken from us, by a gateway that held us for dead, is refused.
    if (served.kind === 'refused') return refused(requestId, RELEASED);
    return conclude(payment, reply, await settlement.settle(payment.id, wait));
  };

  /** Somebody was here before with the same authorization: wait for that outcome, reply with it. */
  const replay = async (payment: Payment, purchase: Purchase<Asked>): Promise<SearchReply> => {
    const { authorization, binding, requestId } = purchase;
    if (!isPayer(authorization, payment)) return refused(requestId, FOREIGN);
    if (payment.binding !== binding) return refused(requestId, BOUND);
    return concludeOther(payment, requestId);
  };

  /** Waits for the outcome of a payment that another request brings about. */
  const concludeOther = async (payment: Payment, requestId: string): Promise<SearchReply> => {
    const outcome = await settlement.outcome(payment.id, wait);
    const reply = outcome.kind === 'settled' ? outcome.reply : undefined;
    return conclude(payment, reply, outcome, requestId);
  };

  return async (
    presented: Presented,
    purchase: Omit<Purchase<Asked>, 'authorization' | 'identifier'>,
    signal: AbortSignal,
  ): Promise<SearchReply> => {
    const authorization = await verifier.check(presented);
    if (isRefusal(authorization)) return refused(purchase.requestId, authorization);
    const { signature } = authorization;
    const flight = `${keyText(authorization)} ${signature} ${purchase.binding}`;
    return flights.join(flight, signal, (end) =>
      buy({ ...purchase, authorization, identifier: parts.identifierOf(presented) }, end),
    );
  };
}

/**
 * Whether who presents a known authorization is its payer. A key's signature was checked; what may
 * be a contract's was checked by the chain when the payment was new, so it must be the same again:
 * payer and nonce alone can be read off the chain by anybody.
 */
function isPayer({ signedBy, signature }: CheckedAuthorization, known: Payment): boolean {
  return signedBy === 'key' || signature === known.authorization.signature;
}

const FOREIGN = refuse('payment_invalid', 'The signature is not the payer’s.', {
  reason: 'invalid_exact_evm_signature',
});

const BOUND = refuse(
  'authorization_bound_to_other_request',
  'This authorization was first used for another search. Sign a new one for this search.',
  { reason: 'authorization_bound_to_other_request' },
);

const CONFLICT = refuse(
  'payment_identifier_conflict',
  'This payment identifier was used for another request. Use a new one for each request.',
);

function asRefusal(value: object): Refusal | undefined {
  return isRefusal(value) ? value : undefined;
}

/** What the payer is told, by what became of the payment. */
function conclude(
  payment: Payment,
  reply: StoredReply | undefined,
  outcome: SettlementOutcome,
  requestId = reply?.requestId ?? payment.id,
): SearchReply {
  const { chainId, from: payer, value: amount } = payment.authorization;
  switch (outcome.kind) {
    case 'settled': {
      if (!reply) return refused(requestId, EXPIRED);
      const receipt = { chainId, payer, transaction: outcome.transaction, amount };
      return { kind: 'results', requestId: reply.requestId, body: reply.body, receipt };
    }
    case 'failed': {
      const { reason, transaction } = outcome;
      const receipt = {
        chainId,
        payer,
        errorReason: reason,
        ...(transaction && { transaction }),
      };
      return refused(requestId, settlementFailed(reason), receipt);
    }
    case 'released':
      return refused(requestId, RELEASED);
    case 'pending':
      return refused(requestId, settlementPending(outcome.transaction));
  }
}

const EXPIRED = refuse(
  'payment_invalid',
  'This authorization paid for a search whose reply is no longer kept. Sign a new one.',
  { reason: 'invalid_exact_evm_nonce_already_used' },
);

const RELEASED = refuse(
  'service_unavailable',
  'The search behind this payment failed and nothing was charged. Send the same payment again.',
  { retryAfterSeconds: 1 },
);

function settlementFailed(reason: string): Refusal {
  const detail = `The payment could not be settled (${reason}); nothing was moved by us and no results are delivered.`;
  return refuse('settlement_failed', detail, { reason });
}

function settlementPending(transaction: string | undefined): Refusal {
  const where = transaction ? ` in transaction ${transaction}` : '';
  return refuse(
    'settlement_pending',
    `The payment is on its way${where} and its outcome is not known yet. Do not sign a new one: ` +
      `send the same payment again after ${RETRY_SECONDS} seconds to get the results.`,
    { retryAfterSeconds: RETRY_SECONDS },
  );
}
