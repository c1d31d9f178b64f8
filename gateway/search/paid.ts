import type { SearchRequest } from '../../search-core/contract.js';
import type { ChainAllowance } from '../ground/domain/allowance.js';
import { isRefusal, type Refusal } from '../ground/domain/refusal.js';
import type { Payment, RequestBinding } from '../money/ledger/payment.js';
import { keyText, type CheckedAuthorization } from '../money/payment/authorization.js';
import { refuseCodePayer } from '../money/payment/code-refusals.js';
import type { RunContext, RunSearch } from './answer.js';
import type { Deliver, PaidSearchParts } from './paid-ports.js';
import { BOUND, conclude, CONFLICT, FOREIGN, GONE, RELEASED } from './paid-replies.js';
import { foundIn, refused, type SearchReply } from './reply.js';
import { createSharedWork } from './shared-work.js';
import type { Place } from './turns.js';

/** What is bought, by an authorization that has passed every check that needs no I/O. */
interface Purchase<Asked> {
  readonly authorization: CheckedAuthorization;
  readonly identifier: string | undefined;
  readonly binding: RequestBinding;
  /** Left as soon as nothing is to be done but to wait for the settlement. */
  readonly place: Place;
  readonly request: Asked;
  readonly run: (request: Asked, context: RunContext) => ReturnType<RunSearch>;
  /** Absent where the reply that `run` gave is what was bought. */
  readonly deliver?: Deliver;
  /** What `deliver` asks a bearer for: only who names the same shares in one reply. */
  readonly secret?: string;
  readonly requestId: string;
  /** What this caller may still have asked of the chain. */
  readonly allowance: ChainAllowance;
}

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
        return concludeOther(reservation.payment, purchase, 'payer');
      case 'answered':
        return reservation.reply;
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
    return concludeOther(other, purchase, 'bearer');
  };

  const serve = async (
    payment: Payment,
    { request, run, place, deliver }: Purchase<Asked>,
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
    if (answer.resultCount === 0 && !parts.chargesEmpty) {
      await ledger.release(payment.id, 'no_results');
      const { chainId, from: payer } = payment.authorization;
      const { body, resultCount } = answer;
      const receipt = { chainId, payer, unsettled: 'no_results' } as const;
      const free = { requestId, body, resultCount, receipt, ...foundIn(answer) };
      return { kind: 'results', isFree: true, ...free };
    }
    const { body } = answer;
    const reply = { body, contentType: 'application/json', requestId, ...foundIn(answer) };
    const served = await ledger.serve(payment.id, reply);
    place.leave();
    // Only a reservation that was taken from us, by a gateway that held us for dead, is refused.
    if (served.kind === 'refused') return refused(requestId, RELEASED);
    const outcome = await settlement.settle(payment.id, wait);
    const delivered =
      deliver && outcome.kind === 'settled' ? await deliver(payment, 'payer') : reply;
    return conclude(payment, delivered, outcome, requestId);
  };

  /** Somebody was here before with the same authorization: wait for that outcome, reply with it. */
  const replay = async (payment: Payment, purchase: Purchase<Asked>): Promise<SearchReply> => {
    const { authorization, binding, requestId } = purchase;
    if (!isPayer(authorization, payment)) return refused(requestId, FOREIGN);
    if (payment.binding !== binding) return refused(requestId, BOUND);
    purchase.place.leave();
    return concludeOther(payment, purchase, 'bearer');
  };

  /** Waits for the outcome of a payment that another request brings about. */
  const concludeOther = async (
    payment: Payment,
    { deliver, requestId }: Purchase<Asked>,
    presenter: 'payer' | 'bearer',
  ): Promise<SearchReply> => {
    const outcome = await settlement.outcome(payment.id, wait);
    if (outcome.kind !== 'settled') return conclude(payment, undefined, outcome, requestId);
    const reply = deliver ? await deliver(payment, presenter) : outcome.reply;
    return conclude(payment, reply, outcome, requestId);
  };

  return async (
    presented: Presented,
    purchase: Omit<Purchase<Asked>, 'authorization' | 'identifier' | 'place'>,
    signal: AbortSignal,
  ): Promise<SearchReply> => {
    const { requestId, binding, secret = '' } = purchase;
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
      const key = `${keyText(authorization)} ${authorization.signature} ${binding} ${secret}`;
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
