import type { SearchRequest } from '../../contract.js';
import type { Engine, SearchLimits, SearchOutcome } from '../../engine.js';
import type { LiveBlocklist } from './blocklist.js';

/** Further results that are asked for once where blocked ones leave gaps. */
const FURTHER = 30;

/**
 * An engine whose answers hold nothing that the blocklist names, from the moment at which the file
 * says so: the deletion may have to wait until another command lets go of the index.
 */
export function filteredEngine(engine: Engine, blocklist: LiveBlocklist): Engine {
  const search = async (request: SearchRequest, limits: SearchLimits): Promise<SearchOutcome> => {
    const begunMs = performance.now();
    const outcome = await engine.search(request, limits);
    const list = blocklist.now;
    if (list.size === 0) return outcome;
    const isAllowed = ({ url }: { readonly url: string }): boolean => !list.blocks(url);
    if (outcome.results.every(isAllowed)) return outcome;
    const { maxResults } = request;
    const deadlineMs = Math.max(0, limits.deadlineMs - (performance.now() - begunMs));
    const wider = { ...request, maxResults: maxResults + FURTHER };
    const { results, metrics } = await engine.search(wider, { ...limits, deadlineMs });
    return { results: results.filter(isAllowed).slice(0, maxResults), metrics };
  };
  return {
    search,
    apply: (changes) => engine.apply(changes),
    commit: () => engine.commit(),
    stats: () => engine.stats(),
    close: () => engine.close(),
  };
}
