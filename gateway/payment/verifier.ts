import type { Clock } from '../domain/ports.js';
import { isRefusal, refuse, type Refusal } from '../domain/refusal.js';
import { unixSeconds, type Address, type UnixSeconds } from '../domain/units.js';
import type { PresentedPayment } from '../x402/payment.js';
import { reasons } from '../x402/reasons.js';
import type { PaymentTerms, Resource } from '../x402/terms.js';
import type { SignedAuthorization } from './authorization.js';
import { createBatcher } from './batch.js';
import { askChain, type ChainAnswer, type ChainCaller, type ChainFacts } from './on-chain.js';
import { checkWindow, matchTerms, type WindowLimits } from './rules.js';
import {
  createDigest,
  createRecover,
  isCanonical,
  isKeySignature,
  type Recover,
} from './signature.js';
import { isWrapped, unwrap } from './transfer.js';

/** Authorizations in one `eth_call`: about 250,000 gas each, and public endpoints allow 50 million. */
const BATCH_MAX = 32;
/** Verifications that wait for the chain; more are told to come back. */
const QUEUE_MAX = 1024;
/** Calls at the same time, so that a slow one does not hold everybody up. */
const CALLS_MAX = 4;
/** Contract signatures that are checked at the same time, each in a call of its own. */
const CONTRACT_CALLS_MAX = 4;
/** Recovered signers that are remembered, at about 500 bytes each. */
const SIGNERS_MAX = 4096;
/** When a chain out of reach is asked again. */
const RETRY_SECONDS = 2;

export interface VerifierOptions {
  readonly chain: ChainCaller;
  /** Only its monotonic side is used. */
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** What is asked now. */
  readonly offer: () => { readonly terms: PaymentTerms; readonly resource: Resource };
  readonly limits: WindowLimits & {
    /** Longest wait for one call to the chain, in milliseconds. */
    readonly deadlineMs: number;
  };
  /** Factories that may deploy a payer's wallet (ERC-6492); none by default. */
  readonly eip6492Factories: readonly Address[];
}

/** An authorization that the chain would execute now, and the block that says so. */
export interface Confirmed {
  readonly authorization: SignedAuthorization;
  readonly facts: ChainFacts;
}

/** Is this payment good? Everything that is free first, the chain last. */
export interface Verifier {
  /**
   * Terms, window and signature, without I/O. A payment that passes is signed by its payer, or
   * carries a contract's signature, which only the chain can judge.
   * The window is checked here only once the chain's time is known from an earlier confirmation.
   */
  check(payment: PresentedPayment): Promise<SignedAuthorization | Refusal>;
  /**
   * What the chain says: state, balance, and a simulation of the transfer, in one `eth_call` that
   * concurrent confirmations share. Refuses with `payment_invalid` or `chain_unavailable`.
   */
  confirm(authorization: SignedAuthorization): Promise<Confirmed | Refusal>;
}

export function createVerifier(options: VerifierOptions): Verifier {
  const { chain, clock, offer, limits } = options;
  const factories = new Set(options.eip6492Factories);
  const digests = createDigests();
  const recover = createRecover(SIGNERS_MAX);
  const chainTime = createChainTime(clock);

  const ask = async (authorizations: readonly SignedAuthorization[]) => {
    const answers = await askChain(chain, authorizations, limits.deadlineMs);
    if (answers[0]) chainTime.saw(answers[0].facts);
    return answers;
  };
  const askTogether = createBatcher(ask, {
    batchMax: BATCH_MAX,
    queueMax: QUEUE_MAX,
    runningMax: CALLS_MAX,
  });
  // A contract's code can burn all gas of the call it is in; nobody else's payment is in there.
  const askAlone = createBatcher(ask, {
    batchMax: 1,
    queueMax: QUEUE_MAX,
    runningMax: CONTRACT_CALLS_MAX,
  });

  return {
    check: async (payment) => {
      const { terms, resource } = offer();
      const authorization = matchTerms(payment, terms, resource);
      if (isRefusal(authorization)) return authorization;
      const now = chainTime.now();
      const late = now !== undefined && checkWindow(authorization, now, limits);
      if (late) return late;
      return checkSignature(authorization, { digest: digests(terms), recover, factories });
    },

    confirm: async (authorization) => {
      const { signature, chainId } = authorization;
      try {
        const first = isKeySignature(signature) ? askTogether : askAlone;
        let answer = await first(authorization);
        if (answer?.kind === 'silent' && first === askTogether)
          answer = await askAlone(authorization);
        if (!answer) return unavailable('Too many payments wait for the chain.');
        if (answer.facts.chainId !== chainId)
          return unavailable('The chain’s endpoint answers for another chain.');
        return conclude(authorization, answer, limits);
      } catch {
        return unavailable('The chain is out of reach.');
      }
    },
  };
}

/** The digest function of the token in force; it changes only with the operator's settings. */
function createDigests(): (terms: PaymentTerms) => ReturnType<typeof createDigest> {
  const byDomain = new WeakMap<object, ReturnType<typeof createDigest>>();
  return ({ domain, chainId, asset }) => {
    const known = byDomain.get(domain);
    if (known) return known;
    const digest = createDigest({ ...domain, chainId, verifyingContract: asset });
    byDomain.set(domain, digest);
    return digest;
  };
}

/** The chain's time, carried forward by the monotonic clock since the last block that was seen. */
function createChainTime(clock: Pick<Clock, 'monotonicMs'>) {
  let last: { timestamp: UnixSeconds; seenAtMs: number } | undefined;
  return {
    saw: ({ timestamp }: ChainFacts) => {
      last = { timestamp, seenAtMs: clock.monotonicMs() };
    },
    now: (): UnixSeconds | undefined =>
      last &&
      unixSeconds(last.timestamp + Math.floor((clock.monotonicMs() - last.seenAtMs) / 1000)),
  };
}

interface SignatureParts {
  readonly digest: ReturnType<typeof createDigest>;
  readonly recover: Recover;
  readonly factories: ReadonlySet<Address>;
}

async function checkSignature(
  authorization: SignedAuthorization,
  { digest, recover, factories }: SignatureParts,
): Promise<SignedAuthorization | Refusal> {
  const { signature, from } = authorization;
  if (isKeySignature(signature)) {
    if (!isCanonical(signature))
      return invalid(
        'The signature must have s in the lower half of the order and v 27 or 28.',
        reasons.signature,
      );
    if ((await recover(digest(authorization), signature)) === from) return authorization;
    return invalid(
      'The signature is not the payer’s for this token, chain and amount.',
      reasons.signature,
    );
  }
  if (isWrapped(signature)) {
    const wrapped = unwrap(signature);
    if (!wrapped) return invalid('The ERC-6492 signature cannot be read.', reasons.signature);
    if (!factories.has(wrapped.factory))
      return invalid('This server does not deploy wallets of this factory.', reasons.factory);
  }
  return authorization;
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
      return { authorization, facts };
    case 'bad':
      return invalid(describe(answer.reason, answer.text), answer.reason);
    case 'silent':
      return invalid('The simulated transfer failed.', reasons.simulation);
  }
}

function describe(reason: string, text: string | undefined): string {
  switch (reason) {
    case reasons.nonceUsed:
      return 'This authorization was used or canceled before.';
    case reasons.balance:
      return 'The payer’s balance does not cover the price.';
    case reasons.signature:
      return 'The token does not accept the signature.';
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
