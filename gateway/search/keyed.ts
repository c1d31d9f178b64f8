import type { SearchRequest } from '../../search-core/contract.js';
import { isRefusal, type Refusal } from '../ground/domain/refusal.js';
import type { Caller } from '../customers/keys/caller.js';
import type { RunSearch } from './answer.js';
import { foundIn, type SearchReply } from './reply.js';

/**
 * Credits, as one search sees them. A hold sets one credit aside; it is spent or released once,
 * and concurrent holds never exceed what is available.
 */
export interface Credits<Hold> {
  hold(caller: Caller, requestId: string): Promise<Hold | Refusal>;
  spend(hold: Hold): Promise<unknown>;
  release(hold: Hold): Promise<unknown>;
}

/** Hold a credit, search, then spend it on a 200 or give it back. */
export function createKeyedSearch<Hold extends object>(
  credits: Credits<Hold>,
  { chargesEmpty }: { readonly chargesEmpty: boolean },
) {
  return async (
    caller: Caller,
    request: SearchRequest,
    run: RunSearch,
    context: { requestId: string; signal: AbortSignal },
  ): Promise<SearchReply> => {
    const { requestId } = context;
    const hold = await credits.hold(caller, requestId);
    if (isRefusal(hold)) return { kind: 'refused', requestId, refusal: hold };
    const answer = await run(request, context).catch(async (bug: unknown) => {
      await credits.release(hold);
      throw bug;
    });
    if (answer.kind === 'refusal') {
      await credits.release(hold);
      return { kind: 'refused', requestId, refusal: answer };
    }
    const { body, resultCount } = answer;
    const found = foundIn(answer);
    if (resultCount === 0 && !chargesEmpty) {
      await credits.release(hold);
      return { kind: 'results', requestId, body, resultCount, isFree: true, ...found };
    }
    await credits.spend(hold);
    return { kind: 'results', requestId, body, resultCount, ...found };
  };
}
