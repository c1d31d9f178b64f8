import { isRefusal, refuse, type Refusal } from '../../ground/domain/refusal.js';
import { bytes32, type Address, type Bytes32 } from '../../ground/domain/units.js';
import type { CodePayer } from '../ledger/code-payer.js';
import type { CodeCall } from '../ledger/code-payers.js';
import type { Payment } from '../ledger/payment.js';
import type { SignedAuthorization } from '../payment/authorization.js';
import { refuseCodePayer } from '../payment/code-refusals.js';
import type { KnownCode, PayerCode } from '../payment/payer-code.js';
import { isKeySignature } from '../payment/signature.js';
import { unwrap } from '../payment/transfer.js';
import { reasons } from '../x402/reasons.js';
import { KEY_TRANSFER_GAS, LONE_TRANSFER_GAS, trialCall } from './calls.js';
import type { ChainFacts } from './facts.js';
import { initialFees } from './fees.js';
import type { Flown } from './flight.js';
import type { SettlementParts } from './parts.js';
import { PayerCodes } from './payer-codes.js';

/**
 * The most that one transaction of a payer with code may use: room for a wallet to check a passkey's
 * signature without a precompile, or to be deployed.
 */
const GAS_MAX = 640_000n;
/** A key's account was looked at when its payment was taken: so long that is good enough. */
const CODE_AGE_MAX_MS = 30_000;

/** How a served payment is to go out. */
export type Way =
  /** With others: its payer is a plain key. */
  | { readonly kind: 'shared' }
  /** Alone, with what its own simulation justifies: its payer has code. */
  | { readonly kind: 'alone'; readonly codePayer: CodePayer }
  /** Not now: its payer turned out to have code, and may not pay at present. */
  | { readonly kind: 'later' };

/**
 * Payers that run code of their own in their transfers. No simulation proves what that code does in a
 * transaction, so such a payment shares no transaction, uses no more gas than its own simulation
 * justifies, and costs its payer, and everybody with the same code, a growing time when it fails.
 */
export class CodePayers {
  readonly #codes: PayerCodes;

  constructor(
    private readonly parts: SettlementParts & {
      readonly facts: ChainFacts;
      /** Who sends transactions: a simulation without a sender is easily told. */
      readonly sender: Address;
    },
  ) {
    this.#codes = new PayerCodes(parts.chain, parts.clock);
  }

  /**
   * Whether this new payment is one of a payer with code, and if so whether it is taken now.
   * @param seen what the verification of the payment saw of the payer's code.
   */
  async admit(
    authorization: SignedAuthorization,
    seen: PayerCode,
  ): Promise<Refusal | CodePayer | undefined> {
    const { from } = authorization;
    try {
      if (seen.kind !== 'unknown') this.#codes.note(from, seen);
      const code = codeOf(authorization, await this.#codes.of(from, CODE_AGE_MAX_MS));
      if (!code) return undefined;
      const { books, settings } = this.parts;
      const objection = await books.codePayers.objection(from, { code }, settings.codePayers);
      if (objection) return refuseCodePayer(objection);
      const gasLimit = await this.#gasLimitOf(authorization);
      return isRefusal(gasLimit) ? gasLimit : { code, gasLimit };
    } catch (error) {
      this.parts.log.warn({ payer: from, error: String(error) }, 'could not look at a payer');
      return refuse(
        'chain_unavailable',
        'We couldn’t find out whether the payer has code. Nothing was charged. Send the same ' +
          'payment again.',
        { retryAfterSeconds: 2 },
      );
    }
  }

  /** The way of a payment, where nothing has to be asked. */
  recallWay({ codePayer, authorization }: Payment): Exclude<Way, { kind: 'later' }> | undefined {
    if (codePayer) return { kind: 'alone', codePayer };
    const code = this.#codes.recall(authorization.from, CODE_AGE_MAX_MS);
    return code && !codeOf(authorization, code) ? { kind: 'shared' } : undefined;
  }

  /** The way of a payment whose payer has to be looked at again. @throws as the chain does. */
  async findWay(payment: Payment): Promise<Way> {
    const { authorization } = payment;
    const { from } = authorization;
    const code = codeOf(authorization, await this.#codes.of(from, CODE_AGE_MAX_MS));
    if (!code) return { kind: 'shared' };
    const { books, settings, log } = this.parts;
    const gasLimit = await this.#gasLimitOf(authorization);
    if (isRefusal(gasLimit)) return { kind: 'later' };
    const found = { code, gasLimit };
    const objection = await books.codePayers.objection(from, found, settings.codePayers);
    const isMarked = !objection && (await books.codePayers.mark(payment.id, found));
    log.info({ payment: payment.id, code, objection: objection?.kind }, 'the payer has code');
    return isMarked ? { kind: 'alone', codePayer: found } : { kind: 'later' };
  }

  /** What a mined transaction shows of payers with code. */
  async callsOf({ intent, moved, unmoved, gasUsed }: Flown): Promise<readonly CodeCall[]> {
    const isAlone = intent.payments.length === 1;
    const calls: CodeCall[] = [];
    const note = ({ id, authorization }: Payment, code: Bytes32, gasWasted: bigint) => {
      const isMoved = moved.some((one) => one.id === id);
      const names = { intentId: intent.id, paymentId: id, payer: authorization.from, code };
      calls.push({ ...names, gasWasted, isMoved, isAlone });
    };
    for (const payment of moved) {
      const beyond = gasUsed > LONE_TRANSFER_GAS ? gasUsed - LONE_TRANSFER_GAS : 0n;
      if (payment.codePayer) note(payment, payment.codePayer.code, isAlone ? beyond : 0n);
    }
    for (const payment of unmoved) {
      const code = payment.codePayer?.code ?? (await this.#lookAgain(payment.authorization));
      if (code) note(payment, code, isAlone ? gasUsed : KEY_TRANSFER_GAS);
    }
    return calls;
  }

  /** Whether the payment's one attempt has failed: code gets no second one. */
  async hasFailed({ codePayer, id }: Payment): Promise<boolean> {
    return codePayer !== undefined && this.parts.books.codePayers.hasFailedAlone(id);
  }

  /** Undefined also where the chain does not say: the others' money is recorded all the same. */
  async #lookAgain(authorization: SignedAuthorization): Promise<Bytes32 | undefined> {
    const { from } = authorization;
    try {
      return codeOf(authorization, await this.#codes.of(from, 0));
    } catch (error) {
      this.parts.log.warn({ payer: from, error: String(error) }, 'could not look at a payer again');
      return undefined;
    }
  }

  /**
   * What a transaction of this payment alone may use: its simulation's gas and a quarter more. The
   * simulation has a sender, a fee and a limit like the transaction itself.
   */
  async #gasLimitOf(authorization: SignedAuthorization): Promise<bigint | Refusal> {
    const { chain, facts, settings, sender } = this.parts;
    const fees = initialFees(await facts.baseFee(), settings);
    const call = { from: sender, ...trialCall(authorization), ...fees };
    const gas = await chain.estimateGas(call);
    if (gas === undefined) {
      const detail = 'The simulated transfer failed.';
      return refuse('payment_invalid', detail, { reason: reasons.simulation });
    }
    if (gas > GAS_MAX) {
      const detail = `The payer’s code needs ${gas} gas for one transfer. The limit is ${GAS_MAX}.`;
      return refuse('payment_invalid', detail, { reason: reasons.simulation });
    }
    const limit = gas + gas / 4n + 10_000n;
    return limit < GAS_MAX ? limit : GAS_MAX;
  }
}

/** What names the code that an authorization's transfer runs; undefined where that is a plain key's. */
function codeOf({ signature, from }: SignedAuthorization, code: KnownCode): Bytes32 | undefined {
  if (code.kind === 'code') return code.hash;
  if (isKeySignature(signature)) return undefined;
  const { factory } = unwrap(signature) ?? { factory: from };
  return bytes32(`0x${factory.slice(2).padStart(64, '0')}`);
}
