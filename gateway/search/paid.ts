import type { SearchRequest } from '../../search-core/contract.js';
import type { ChainAllowance } from '../ground/domain/allowance.js';
import { isRefusal, refuse, type Refusal } from '../ground/domain/refusal.js';
import type { Address } from '../ground/domain/units.js';
import type { Payment, RequestBinding, StoredReply } from '../money/ledger/payment.js';
import type { CodePayer } from '../money/ledger/code-payer.js';
import { refuseCodePayer, type CodeObjection } from '../money/payment/code-refusals.js';
import {
  keyText,
  type AuthorizationKey,
  type CheckedAuthorization,
  type SignedAuthorization,
} from '../money/payment/authorization.js';
import type { SettlementOutcome } from '../money/settlement/outcome.js';
import type { RunContext, RunSearch } from './answer.js';
import { createSharedWork } from './shared-work.js';
import { refused, type SearchReply } from './reply.js';
import type { Place, Turns } from './turns.js';

/** Is this authorization good? The free rules first, the chain only after the ledger was asked. */
export interface Verifier<Presented> {
  /** Everything that needs no I/O and holds at any time: payee, token, signature of a key. */
  check(presented: Presented): Promise<CheckedAuthorization | Refusal>;
  /** For a new payment: price, window, and what only the chain knows. */
  confirm(
    authorization: CheckedAuthorization,
    allowance: ChainAllowance,
  ): Promise<Confirmed | Refusal>;
}

/** The chain would make the transfer now. */
interface Confirmed {
  /** Present where the payer has code: such a payment is bound by rules of its own. */
  readonly codePayer?: CodePayer;
}

interface Reservation {
  readonly kind: 'reserved' | 'exists' | 'identified';
  readonly payment: Payment;
}

/** The books, as one paid search sees them. */
export interface PaymentLedger {
  /** The payment of this authorization that was not released, if there is one. */
  find(key: AuthorizationKey): Promise<Payment | undefined>;
  /** The payment that this payer gave this identifier of its own, if there is one that counts. */
  findIdentified(payer: Address, paymentIdentifier: string): Promise<Payment | undefined>;
  /**
   * Of all concurrent calls for one authorization, over all gateways, exactly one reserves.
   * `identified`: the payer's own identifier names that payment, by another authorization.
   */
  reserve(
    authorization: SignedAuthorization,
    binding: RequestBinding,
    requestId: string,
    paymentIdentifier: string | undefined,
  ): Promise<Reservation>;
  /**
   * The same for a payer that has code, which has one open payment at a time.
   * `deferred`: no payment of it is taken now.
   */
  reserveForCode(
    codePayer: CodePayer,
    authorization: SignedAuthorization,
    binding: RequestBinding,
    requestId: string,
    paymentIdentifier: string | undefined,
  ): Promise<Reservation | { kind: 'deferred'; objection: CodeObjection }>;
  /** Gives a reservation back before anything was signed; the authorization may be used again. */
  release(paymentId: string, reason: string): Promise<unknown>;
  /** Records the reply durably; from here on the payment will be settled, whoever is left. */
  serve(paymentId: string, reply: StoredReply): Promise<{ kind: 'done' | 'refused' }>;
}

/** Moving the money, as one paid search sees it. */
export interface PaymentSettlement {
  /**
   * Why a payment that comes now is not even looked at, if it is not. Before it come so many
   * `promised` payments, which are not served yet, and so many seconds until it is looked at.
   */
  sheds(promised: number, seconds: number): Refusal | undefined;
  /** Why no new paid work is taken now, if it is not, with so many `promised` and not served yet. */
  admits(authorization: SignedAuthorization, promised: number): Refusal | undefined;
  /** Settles a served payment; says `pending` after `waitMs` while the work goes on. */
  settle(paymentId: string, options: { waitMs: number }): Promise<SettlementOutcome>;
  /** Waits for the outcome of a payment that somebody else serves. */
  outcome(paymentId: string, options: { waitMs: number }): Promise<SettlementOutcome>;
}

export interface PaidSearchParts<Presented> {
  /** The payer's own id of the payment (x402 extension payment-identifier), where it sent one. */
  identifierOf(presented: Presented): string | undefined;
  readonly verifier: Verifier<Presented>;
  readonly ledger: PaymentLedger;
  readonly settlement: PaymentSettlement;
  /** Shared by everything that is sold. */
  readonly turns: Turns;
  /** How long a caller waits for the chain before it is told `settlement_pending`. */
  readonly settlementWaitMs: number;
}

/** What is bought, by an authorization that has passed every check that needs no I/O. */
interface Purchase<Asked> {
  readonly authorization: CheckedAuthorization;
  readonly identifier: string | undefined;
  readonly binding: RequestBinding;
  /** Left as soon as nothing is to be done but to wait for the settlement. */
  readonly place: Place;
  readonly request: Asked;
  readonly run: (request: Asked, context: RunContext) => ReturnType<RunSearch>;
  readonly requestId: string;
  /** What this caller may still have asked of the chain. */
  readonly allowance: ChainAllowance;
}

/** Seconds after which a caller is asked to send the same payment again: one Base block. */
const RETRY_SECONDS = 2;

/**
 * Verify and reserve, search, settle, reply. However often and wherever one authorization is
 * presented, one search is run for it, one transfer is made, and every presenter gets one reply.
 */
export function createPaidSearch<Presented, Asked = SearchRequest>(
  parts: PaidSearchParts<Presented>,
) {
  const { verifier, ledger, settlement, turns } = parts;
  const shared = createSharedWork<SearchReply>();
  const wait = { waitMs: parts.settlementWaitMs };

  const buy = async (purchase: Purchase<Asked>, signal: AbortSignal): Promise<SearchReply> => {
    const { authorization, binding, requestId } = purchase;
    const known = await ledger.find(authorization);
    if (known) return replay(known, purchase);
    // A contract's answer may take long; those who sign with a key do not wait for it.
    if (authorization.signedBy === 'contract') purchase.place.leave();
    const confirmed =
      settlement.admits(authorization, turns.active) ??
      (await verifier.confirm(authorization, purchase.allowance));
    if (isRefusal(confirmed)) return refuseUnknown(confirmed, purchase);
    const { codePayer } = confirmed;
    const wanted = [authorization, binding, requestId, purchase.identifier] as const;
    const reservation = codePayer
      ? await ledger.reserveForCode(codePayer, ...wanted)
      : await ledger.reserve(...wanted);
    switch (reservation.kind) {
      case 'reserved':
        return serve(reservation.payment, purchase, { requestId, signal });
      case 'exists':
        return replay(reservation.payment, purchase);
      case 'identified':
        // The chain has just judged this payer's signature; the new authorization is not used.
        if (reservation.payment.binding !== binding) return refused(requestId, CONFLICT);
        purchase.place.leave();
        return concludeOther(reservation.payment, requestId);
      case 'deferred':
        return refused(requestId, refuseCodePayer(reservation.objection));
    }
  };

  /**
   * Refuses a payment that the books do not know even now. Another gateway may have reserved it
   * since they were asked, and what it has settled is what the chain objects to: a used nonce, an
   * empty balance. Who was charged is never asked to pay anew.
   */
  const refuseUnknown = async (
    refusal: Refusal,
    purchase: Purchase<Asked>,
  ): Promise<SearchReply> => {
    const { authorization, identifier, binding, requestId } = purchase;
    if (refusal.next !== 'new-payment') return refused(requestId, refusal);
    const known = await ledger.find(authorization);
    if (known) return replay(known, purchase);
    // Only a key's signature is known to be the payer's before the chain was asked.
    if (identifier === undefined || authorization.signedBy !== 'key')
      return refused(requestId, refusal);
    const other = await ledger.findIdentified(authorization.from, identifier);
    if (other?.binding !== binding) return refused(requestId, refusal);
    purchase.place.leave();
    return concludeOther(other, requestId);
  };

  const serve = async (
    payment: Payment,
    { request, run, place }: Purchase<Asked>,
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
    place.leave();
    // Only a reservation that was taken from us, by a gateway that held us for dead, is refused.
    if (served.kind === 'refused') return refused(requestId, RELEASED);
    return conclude(payment, reply, await settlement.settle(payment.id, wait));
  };

  /** Somebody was here before with the same authorization: wait for that outcome, reply with it. */
  const replay = async (payment: Payment, purchase: Purchase<Asked>): Promise<SearchReply> => {
    const { authorization, binding, requestId } = purchase;
    if (!isPayer(authorization, payment)) return refused(requestId, FOREIGN);
    if (payment.binding !== binding) return refused(requestId, BOUND);
    purchase.place.leave();
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
    purchase: Omit<Purchase<Asked>, 'authorization' | 'identifier' | 'place'>,
    signal: AbortSignal,
  ): Promise<SearchReply> => {
    const { requestId, binding } = purchase;
    const busy = settlement.sheds(turns.payments, turns.waitSeconds);
    if (busy) return refused(requestId, busy);
    const place = await turns.take();
    try {
      // The crowd may have taken longer than it seemed that it would.
      const late = settlement.sheds(turns.active, place.waitedSeconds);
      if (late) return refused(requestId, late);
      if (signal.aborted) return refused(requestId, GONE);
      const authorization = await verifier.check(presented);
      if (isRefusal(authorization)) return refused(requestId, authorization);
      const key = `${keyText(authorization)} ${authorization.signature} ${binding}`;
      const identifier = parts.identifierOf(presented);
      const role = { isFirst: false };
      const reply = shared.join(key, signal, (end) => {
        role.isFirst = true;
        return buy({ ...purchase, authorization, identifier, place }, end);
      });
      // The others have nothing to do but to wait for the first one's reply.
      if (!role.isFirst) place.leave();
      return await reply;
    } finally {
      place.leave();
    }
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

/** Nobody reads it. */
const GONE = refuse('service_unavailable', 'The caller has gone.', { retryAfterSeconds: 1 });

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
