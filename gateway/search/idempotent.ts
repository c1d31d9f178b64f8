import type { SearchRequest } from '../../search-core/contract.js';
import type { Caller } from '../customers/keys/caller.js';
import type { IdempotentReplies, IdempotentTry } from '../customers/credits/idempotent-replies.js';
import type { Clock } from '../ground/domain/ports.js';
import { refuse } from '../ground/domain/refusal.js';
import type { RunContext, RunSearch } from './answer.js';
import type { Keeping } from './keeping.js';
import { refused, type SearchReply } from './reply.js';
import { createSharedWork } from './shared-work.js';

/** How a keyed search ran, with the `Idempotency-Key` that its caller may have sent. */
export interface KeyedContext extends RunContext {
  readonly idempotencyKey?: string;
}

/** One search on credits. */
export type KeyedSearch<Context extends RunContext = KeyedContext> = (
  caller: Caller,
  request: SearchRequest,
  run: RunSearch,
  context: Context,
) => Promise<SearchReply>;

interface IdempotentSearchParts {
  readonly search: KeyedSearch<RunContext>;
  readonly replies: Omit<IdempotentReplies, 'prune'>;
  readonly keeping: Pick<Keeping, 'bindingOf'>;
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  /** How long a copy waits for the first one, which another gateway may be running. */
  readonly waitMs: number;
}

/** How often a copy looks whether the first one, at another gateway, has ended. */
const POLL_MS = 100;

/**
 * Searches on credits where `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header) makes
 * any number of copies one search: one credit, and one reply for all. The reply is durable before
 * its credit is spent, so a process that dies in between gives a search away and charges none
 * twice. A search that fails gives its key back. Without a key, nothing is written or changed.
 */
export function createIdempotentSearch(parts: IdempotentSearchParts): KeyedSearch {
  const { search, replies, clock, waitMs } = parts;
  const shared = createSharedWork<SearchReply>();

  /** Runs the search under a claim; the reply is kept between the answer and the credit. */
  const runOnce = async (
    attempt: IdempotentTry,
    ...[caller, request, run, context]: Parameters<KeyedSearch<RunContext>>
  ): Promise<SearchReply> => {
    const kept = { isDone: false };
    const runAndKeep: RunSearch = async (asked, runContext) => {
      const answer = await run(asked, runContext);
      if (answer.kind === 'refusal') return answer;
      kept.isDone = (await replies.keep(attempt, answer)) === 'kept';
      return kept.isDone ? answer : PENDING;
    };
    try {
      return await search(caller, request, runAndKeep, context);
    } finally {
      // Where even this fails, the claim lapses by itself.
      if (!kept.isDone) await replies.release(attempt).catch(() => undefined);
    }
  };

  const claimAndRun = async (
    attempt: IdempotentTry,
    ...call: Parameters<KeyedSearch<RunContext>>
  ): Promise<SearchReply> => {
    const { requestId } = attempt;
    const { signal } = call[3];
    const endsMs = clock.monotonicMs() + waitMs;
    for (;;) {
      const claim = await replies.claim(attempt);
      switch (claim.kind) {
        case 'claimed':
          return runOnce(attempt, ...call);
        case 'kept':
          return asReplay({ ...claim, kind: 'results' });
        case 'reused':
          return refused(requestId, REUSED);
        case 'running':
          if (signal.aborted || clock.monotonicMs() >= endsMs) return refused(requestId, PENDING);
          await clock.sleep(POLL_MS, signal);
      }
    }
  };

  return async (caller, request, run, { idempotencyKey: key, ...context }) => {
    if (key === undefined) return search(caller, request, run, context);
    const { requestId } = context;
    const { id: accountId } = caller.account;
    const attempt = { accountId, key, binding: parts.keeping.bindingOf(request), requestId };
    const mine = { isFirst: false };
    const copies = `${accountId} ${attempt.binding} ${key}`;
    const reply = await shared.join(copies, context.signal, (signal) => {
      mine.isFirst = true;
      return claimAndRun(attempt, caller, request, run, { ...context, signal });
    });
    return mine.isFirst ? reply : asReplay(reply);
  };
}

/** A reply that somebody else's credit has paid for. */
function asReplay(reply: SearchReply): SearchReply {
  return reply.kind === 'results' ? { ...reply, isReplay: true } : reply;
}

const REUSED = refuse(
  'idempotency_key_reused',
  'This Idempotency-Key was used for another search. Use a new one for each search.',
);

const PENDING = refuse(
  'idempotency_pending',
  'The first search with this Idempotency-Key is still running. Send the same request again.',
  { retryAfterSeconds: 1 },
);
