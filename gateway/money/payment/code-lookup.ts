import type { ChainAllowance } from '../../ground/domain/allowance.js';
import type { Clock } from '../../ground/domain/ports.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import type { Address } from '../../ground/domain/units.js';
import { reasons } from '../x402/reasons.js';
import type { CheckedAuthorization } from './authorization.js';
import { createCodeQuestion, type CodeChain } from './code-question.js';
import { isWrapped } from './transfer.js';

/** All unknown payers together cost so many milliseconds for each call: ten calls a second. */
const CALL_EVERY_MS = 100;
/** Accounts that wait; further ones are told to come back. */
const WAITING_MAX = 4096;
/** Accounts whose answer is kept, at about 150 bytes each. */
const KNOWN_MAX = 20_000;
/** An account may get code, or lose it, at any time: after so long it is looked at again. */
const KNOWN_MS = 60_000;
/**
 * Payments that go on in one turn of the event loop: each takes a millisecond or two, and a whole
 * batch at once would hold everybody else up.
 */
const RELEASED_AT_ONCE = 2;
/** What one account takes of an allowance where many share a call. */
const SHARE = 1 / 8;
/**
 * What one takes where each needs a call of its own: of the ten a second that there are for all, no
 * address gets more than half.
 */
const SHARE_ALONE = 4;
/** Accounts that wait there: three seconds. */
const WAITING_ALONE_MAX = 30;
const RETRY_SECONDS = 2;

/** Which payers have code. */
export interface CodeLookup {
  /** Whether an account has code, as of a minute ago at most. Rejects like the chain does. */
  has(account: Address, allowance: ChainAllowance): Promise<boolean | Refusal>;
}

/**
 * Looks up who has code, for all that ask at the same time in one call, and remembers it. Where the
 * endpoint refuses that, they are asked for one by one. However many unknown payers come, the chain
 * is asked ten times a second at the most.
 */
export function createCodeLookup(
  chain: CodeChain,
  clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
  deadlineMs: number,
): CodeLookup {
  const known = new Map<Address, { readonly hasCode: boolean; readonly untilMs: number }>();
  const waiting = new Map<Address, Waiting>();
  const question = createCodeQuestion(chain, deadlineMs);
  let isUnderWay = false;
  let lastMs = -Infinity;

  const remember = (account: Address, hasCode: boolean) => {
    known.delete(account);
    known.set(account, { hasCode, untilMs: clock.monotonicMs() + KNOWN_MS });
    const [oldest] = known.keys();
    if (known.size > KNOWN_MAX && oldest !== undefined) known.delete(oldest);
  };
  const waitingMax = () => (question.accountsMax() > 1 ? WAITING_MAX : WAITING_ALONE_MAX);
  /** Only with the answer do they stop waiting: who asks in the meantime shares it. */
  const settle = (accounts: readonly Address[], how: (one: Waiting) => void) => {
    for (const account of accounts) {
      const one = waiting.get(account);
      waiting.delete(account);
      if (one) how(one);
    }
  };
  const askAll = async () => {
    isUnderWay = true;
    while (waiting.size > 0) {
      const waitMs = lastMs + CALL_EVERY_MS - clock.monotonicMs();
      if (waitMs > 0) await clock.sleep(waitMs);
      lastMs = clock.monotonicMs();
      const accounts = [...waiting.keys()];
      const asked = accounts.slice(0, question.accountsMax());
      const answers = await question.ask(asked).catch((error: unknown) => {
        settle(asked, (one) => one.reject(error));
        return [];
      });
      const answered = asked.slice(0, answers.length);
      answered.forEach((account, index) => remember(account, answers[index] === true));
      for (let from = 0; from < answered.length; from += RELEASED_AT_ONCE) {
        if (from > 0) await clock.sleep(0);
        answered.slice(from, from + RELEASED_AT_ONCE).forEach((account, index) => {
          settle([account], (one) => one.resolve(answers[from + index] === true));
        });
      }
      // Who asked before it turned out that each needs a call may be too many now.
      if (waiting.size > waitingMax()) {
        settle(accounts.slice(answers.length + waitingMax()), (one) => one.reject(TOO_MANY));
      }
    }
    isUnderWay = false;
  };

  return {
    has: async (account, allowance) => {
      const answer = known.get(account);
      if (answer && answer.untilMs > clock.monotonicMs()) return answer.hasCode;
      const same = waiting.get(account);
      if (same) return same.promise;
      const refusal = allowance.take(question.accountsMax() > 1 ? SHARE : SHARE_ALONE);
      if (refusal) return refusal;
      if (waiting.size >= waitingMax())
        return unavailable('Too many payments are waiting for the chain.');
      const asked = newWaiting();
      waiting.set(account, asked);
      if (!isUnderWay) void askAll();
      return asked.promise;
    },
  };
}

const TOO_MANY = new Error('too many payments wait for the chain');

interface Waiting {
  readonly promise: Promise<boolean>;
  readonly resolve: (hasCode: boolean) => void;
  readonly reject: (error: unknown) => void;
}

function newWaiting(): Waiting {
  let resolve: Waiting['resolve'] = () => undefined;
  let reject: Waiting['reject'] = () => undefined;
  const promise = new Promise<boolean>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

/**
 * Refuses what no contract can have signed, because there is none, before the chain is asked
 * anything about this payment alone; and takes what the question to the chain costs. A payer that
 * is not deployed yet (ERC-6492) has no code and may pay: its factory was compared before.
 */
export function createPayerGate(code: CodeLookup) {
  return async (
    checked: CheckedAuthorization,
    allowance: ChainAllowance,
  ): Promise<Refusal | undefined> => {
    if (checked.objection) return checked.objection;
    if (checked.signedBy === 'key') return allowance.take(KEY_SHARE);
    if (!isWrapped(checked.signature)) {
      const hasCode = await code.has(checked.from, allowance).catch(() => OUT_OF_REACH);
      if (hasCode === false) return NOT_SIGNED;
      if (hasCode !== true) return hasCode;
    }
    return allowance.take(1);
  };
}

/** Payers that sign with a key share a question with up to 31 others. */
const KEY_SHARE = 1 / 32;

const NOT_SIGNED = refuse(
  'payment_invalid',
  'The signature doesn’t match the payer for this token, chain and amount.',
  { reason: reasons.signature },
);

const OUT_OF_REACH = unavailable('The chain can’t be reached.');

function unavailable(what: string): Refusal {
  return refuse('chain_unavailable', `${what} Nothing was charged; send the same payment again.`, {
    retryAfterSeconds: RETRY_SECONDS,
  });
}
