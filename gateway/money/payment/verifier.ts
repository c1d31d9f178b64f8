import type { Clock } from '../../ground/domain/ports.js';
import { isRefusal, refuse, type Refusal } from '../../ground/domain/refusal.js';
import { unixSeconds, type Address, type UnixSeconds } from '../../ground/domain/units.js';
import type { PresentedPayment } from '../x402/payment.js';
import { reasons } from '../x402/reasons.js';
import type { Offer, PaymentTerms } from '../x402/terms.js';
import type { CheckedAuthorization, SignedAuthorization } from './authorization.js';
import { askChain, type ChainAnswer, type ChainCaller, type ChainFacts } from './on-chain.js';
import type { PayerCode } from './payer-code.js';
import { createRounds } from './rounds.js';
import { checkWindow, matchPrice, matchTerms, type WindowLimits } from './rules.js';
import { createDigest, createRecover, isCanonical, isKeySignature } from './signature.js';
import { isWrapped, unwrap } from './transfer.js';

/** Recovered signers that are remembered, at about 500 bytes each. */
const SIGNERS_MAX = 4096;
/** A block seen longer ago says nothing of the chain's time: the chain may have stopped since. */
const CHAIN_TIME_AGE_MAX_MS = 60_000;
/** When a chain out of reach is asked again. */
const RETRY_SECONDS = 2;

/** Something that is sold. */
export interface Sale {
  /** What is asked now. */
  readonly offer: () => Offer;
  /** Whether a payment at another price may be made because it was quoted; no one by default. */
  readonly honours?: (payment: PresentedPayment) => boolean;
}

/** The sale is what payments are for unless `check` is told otherwise. */
interface VerifierOptions extends Sale {
  readonly chain: ChainCaller;
  /** Only its monotonic side is used. */
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  readonly limits: WindowLimits & {
    /** Longest wait for one call to the chain, in milliseconds. */
    readonly deadlineMs: number;
  };
  /**
   * Whether payers may be contracts, default true: a signature that is not of the payer's own key
   * is then a question for the chain; otherwise it is refused for free.
   */
  readonly contractWallets?: boolean;
  /** Whose gas money is asked for along with everything else; none by default. */
  readonly relayers?: readonly Address[];
  /** Factories that may deploy a payer's wallet (ERC-6492); none by default. */
  readonly eip6492Factories: readonly Address[];
}

/** An authorization that the chain would execute now, and the block that says so. */
export interface Confirmed {
  readonly authorization: SignedAuthorization;
  readonly facts: ChainFacts;
  /** Whether the payer ran code of its own in the simulation. */
  readonly payerCode: PayerCode;
}

/** Is this payment good? Everything that is free first, the chain last. */
export interface Verifier {
  /**
   * Terms and signature, without I/O. A payment that passes is for this server, and signed by its
   * payer's key or carrying what may be a contract's signature. Its price is compared too, but an
   * objection to it counts only for a payment that is new.
   */
  check(payment: PresentedPayment, sale?: Sale): Promise<CheckedAuthorization | Refusal>;
  /**
   * Whether a new payment can be taken now: its price and window, then the chain (state, balance,
   * and a simulation of the transfer) in one `eth_call` that concurrent confirmations share.
   * Refuses with `payment_invalid` or `chain_unavailable`.
   */
  confirm(authorization: CheckedAuthorization): Promise<Confirmed | Refusal>;
}

export function createVerifier(options: VerifierOptions): Verifier {
  const { chain, clock, limits } = options;
  const chainTime = createChainTime(clock);
  const signerOf = createSignerOf();
  const checkSigner = createSignerCheck(options);
  const askOne = createRounds(async (authorizations) => {
    const answers = await askChain(chain, authorizations, limits.deadlineMs, options.relayers);
    if (answers[0]) chainTime.saw(answers[0].facts);
    return answers;
  }, clock);

  const check = (
    payment: PresentedPayment,
    { offer, honours = () => false }: Sale,
  ): CheckedAuthorization | Refusal => {
    const { terms, resource } = offer();
    const authorization = matchTerms(payment, terms, resource);
    if (isRefusal(authorization)) return authorization;
    const signer = signerOf(authorization, terms);
    const refusal = checkSigner(authorization, signer);
    if (refusal) return refusal;
    const differing = matchPrice(payment, terms);
    const objection = differing && !honours(payment) ? differing : undefined;
    const signedBy = signer === 'key' ? 'key' : 'contract';
    return { ...authorization, signedBy, ...(objection && { objection }) };
  };

  return {
    check: (payment, sale = options) => Promise.resolve(check(payment, sale)),

    confirm: async (checked) => {
      const { signedBy, objection, ...authorization } = checked;
      if (objection) return objection;
      const now = chainTime.now();
      // An estimate may lag by a block: whether the window has begun is left to the chain.
      const begun = { validAfter: unixSeconds(0), validBefore: authorization.validBefore };
      const late = now !== undefined && checkWindow(begun, now, limits);
      if (late) return late;
      let answer: ChainAnswer | undefined;
      try {
        answer = await askOne(authorization, signedBy);
      } catch {
        return unavailable('The chain can’t be reached.');
      }
      if (!answer) return unavailable('Too many payments are waiting for the chain.');
      if (answer.facts.chainId !== authorization.chainId)
        return unavailable('The RPC endpoint serves another chain.');
      return conclude(authorization, answer, limits);
    },
  };
}

/** Whose signature it is, as far as can be told without the chain. */
type Signer = 'key' | 'malleable' | 'wrapped' | 'unknown';

function createSignerOf() {
  const recover = createRecover(SIGNERS_MAX);
  const digests = new WeakMap<PaymentTerms['domain'], ReturnType<typeof createDigest>>();
  const digestOf = ({ domain, chainId, asset }: PaymentTerms) => {
    const known = digests.get(domain);
    if (known) return known;
    const digest = createDigest({ ...domain, chainId, verifyingContract: asset });
    digests.set(domain, digest);
    return digest;
  };
  return (authorization: SignedAuthorization, terms: PaymentTerms): Signer => {
    const { signature, from } = authorization;
    if (isWrapped(signature)) return 'wrapped';
    if (!isKeySignature(signature)) return 'unknown';
    if (!isCanonical(signature)) return 'malleable';
    const signer = recover(digestOf(terms)(authorization), signature);
    return signer === from ? 'key' : 'unknown';
  };
}

/** Refuses the signatures that no answer of the chain could save. */
function createSignerCheck({ contractWallets = true, eip6492Factories }: VerifierOptions) {
  const factories = new Set(eip6492Factories);
  return ({ signature }: SignedAuthorization, signer: Signer): Refusal | undefined => {
    switch (signer) {
      case 'key':
        return undefined;
      case 'malleable':
        return invalid(
          'A signature of 65 bytes must have s in the lower half of the order and v 27 or 28.',
          reasons.signature,
        );
      case 'wrapped': {
        const wrapped = unwrap(signature);
        if (!wrapped) return invalid('The ERC-6492 signature can’t be read.', reasons.signature);
        return contractWallets && factories.has(wrapped.factory)
          ? undefined
          : invalid('This server doesn’t deploy wallets from this factory.', reasons.factory);
      }
      case 'unknown':
        return contractWallets
          ? undefined
          : invalid(
              'The signature doesn’t match the payer for this token, chain and amount.',
              reasons.signature,
            );
    }
  };
}

/**
 * The chain's time, carried forward by the monotonic clock since the last block that was seen;
 * undefined when that is too long ago to go by.
 */
function createChainTime(clock: Pick<Clock, 'monotonicMs'>) {
  let last: { timestamp: UnixSeconds; seenAtMs: number } | undefined;
  return {
    saw: ({ timestamp }: ChainFacts) => {
      last = { timestamp, seenAtMs: clock.monotonicMs() };
    },
    now: (): UnixSeconds | undefined => {
      if (!last) return undefined;
      const elapsedMs = clock.monotonicMs() - last.seenAtMs;
      if (elapsedMs > CHAIN_TIME_AGE_MAX_MS) return undefined;
      return unixSeconds(last.timestamp + Math.floor(elapsedMs / 1000));
    },
  };
}

function conclude(
  authorization: SignedAuthorization,
  answer: ChainAnswer,
  limits: WindowLimits,
): Confirmed | Refusal {
  const { facts } = answer;
  const late = checkWindow(authorization, facts.timestamp, limits);
  if (late) return late;
  switch (answer.kind) {
    case 'good':
      return { authorization, facts, payerCode: answer.payerCode };
    case 'bad':
      return invalid(describe(answer.reason, answer.text), answer.reason);
    case 'silent':
      return invalid('The simulated transfer failed.', reasons.simulation);
  }
}

function describe(reason: string, text: string | undefined): string {
  switch (reason) {
    case reasons.nonceUsed:
      return 'This authorization was already used or canceled.';
    case reasons.balance:
      return 'The payer’s balance is too low for the price.';
    case reasons.signature:
      return 'The signature doesn’t match the payer for this token, chain and amount.';
    default:
      return `The simulated transfer failed${text === undefined ? '' : ` (${text})`}.`;
  }
}

function invalid(detail: string, reason: string): Refusal {
  return refuse('payment_invalid', detail, { reason });
}

function unavailable(what: string): Refusal {
  return refuse('chain_unavailable', `${what} Nothing was charged; send the same payment again.`, {
    retryAfterSeconds: RETRY_SECONDS,
  });
}
