import type { SearchRequest } from '../../search-core/contract.js';
import { isRefusal, type Refusal } from '../domain/refusal.js';
import type { RunSearch } from './answer.js';
import type { SearchReply } from './reply.js';

/** An account holder who has shown a good key. */
export interface Principal {
  readonly accountId: string;
  readonly keyId: string;
}

/**
 * Credits, as one search sees them. A hold sets one credit aside; it is spent or released once,
 * and concurrent holds never exceed what is available.
 */
export interface Credits<Hold> {
  hold(principal: Principal, requestId: string): Promise<Hold | Refusal>;
  spend(hold: Hold): Promise<void>;
  release(hold: Hold): Promise<void>;
}

/** Hold a credit, search, then spend it on a 200 or give it back. */
export function createKeyedSearch<Hold extends object>(credits: Credits<Hold>) {
  return async (
    principal: Principal,
    request: SearchRequest,
    run: RunSearch,
    context: { requestId: string; signal: AbortSignal },
  ): Promise<SearchReply> => {
    const { requestId } = context;
    const hold = await credits.hold(principal, requestId);
    if (isRefusal(hold)) return { kind: 'refused', requestId, refusal: hold };
    const answer = await run(request, context).catch(async (bug: unknown) => {
      await credits.release(hold);
      throw bug;
    });
    if (answer.kind === 'refusal') {
      await credits.release(hold);
      return { kind: 'refused', requestId, refusal: answer };
    }
    await credits.spend(hold);
    return { kind: 'results', requestId, body: answer.body };
  };
}
