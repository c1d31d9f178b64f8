import type { ChainAllowance } from '../ground/domain/allowance.js';
import type { Refusal } from '../ground/domain/refusal.js';
import type { Address } from '../ground/domain/units.js';
import type { CodePayer } from '../money/ledger/code-payer.js';
import type { Payment, RequestBinding, StoredReply } from '../money/ledger/payment.js';
import type {
  AuthorizationKey,
  CheckedAuthorization,
  SignedAuthorization,
} from '../money/payment/authorization.js';
import type { CodeObjection } from '../money/payment/code-refusals.js';
import type { SettlementOutcome } from '../money/settlement/outcome.js';
import type { SearchReply } from './reply.js';
import type { Turns } from './turns.js';

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

/** What is bought takes more than this payment, and has an answer of its own without it. */
interface Answered {
  readonly kind: 'answered';
  readonly reply: SearchReply;
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
  ): Promise<Reservation | Answered>;
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
  ): Promise<Reservation | Answered | { kind: 'deferred'; objection: CodeObjection }>;
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

/**
 * What is handed over for a settled payment, where the ledger does not keep it.
 *
 * `presenter` is `payer` where the payer's wallet has just signed something that nobody else has,
 * and `bearer` where the authorization may have been read off the chain, signature and all.
 */
export type Deliver = (
  payment: Payment,
  presenter: 'payer' | 'bearer',
) => Promise<StoredReply | Refusal>;

export interface PaidSearchParts<Presented> {
  /** The payer's own id of the payment (x402 extension payment-identifier), where it sent one. */
  identifierOf(presented: Presented): string | undefined;
  readonly verifier: Verifier<Presented>;
  readonly ledger: PaymentLedger;
  readonly settlement: PaymentSettlement;
  /** Shared by everything that is sold. */
  readonly turns: Turns;
  /** Whether a search that finds nothing is paid for; false leaves its payment unsettled. */
  readonly chargesEmpty: boolean;
  /** How long a caller waits for the chain before it is told `settlement_pending`. */
  readonly settlementWaitMs: number;
}
