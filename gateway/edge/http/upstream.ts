import type { SearchRequest } from '../../../search-core/contract.js';
import type { Clock, Log } from '../../ground/domain/ports.js';
import { refuse } from '../../ground/domain/refusal.js';
import type { SearchNode } from '../../ground/processes/search-nodes.js';
import type { RunContext, RunSearch, SearchAnswer } from '../../search/answer.js';
import {
  createNodeClient,
  type Exchange,
  type ExchangeLimits,
  type NodeClient,
} from './upstream-exchange.js';
import { type Failed, GONE, judge } from './upstream-judge.js';
import { chooseNode } from './upstream-order.js';

export interface UpstreamOptions extends ExchangeLimits {
  /** The search-cores of one index; at least one. */
  readonly nodes: readonly SearchNode[];
  /** Time for one search, all its tries together, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Told how each try ended: `answered`, or the fault. */
  readonly onTry: (node: string, ended: 'answered' | 'failed') => void;
  readonly log: Log;
}

/** Nodes that one search is tried on at the most. */
const TRIES_MAX = 3;

interface Worker {
  readonly name: string;
  readonly node: SearchNode;
  readonly client: NodeClient;
  inFlight: number;
}

/**
 * Spreads searches over search-cores. The same search goes to the same node while that serves, so
 * that it is answered from the same commit. A search changes nothing, so one that a node did not
 * answer is tried on another, within the same deadline: the first has half of the time, since a
 * frozen node says nothing at all. A node that failed gets no other search until it is found well.
 * What says that the search itself is wrong (a 4xx) is not tried again, nor is what the caller left.
 */
export function createUpstream(options: UpstreamOptions): RunSearch & { close(): void } {
  const { clock, log } = options;
  const workers: readonly Worker[] = options.nodes.map((node) => ({
    name: node.name,
    node,
    client: createNodeClient(node.url, options),
    inFlight: 0,
  }));

  const tryOn = async (
    worker: Worker,
    search: { readonly request: SearchRequest; readonly body: Buffer },
    context: RunContext & { readonly timeoutMs: number },
  ): Promise<SearchAnswer | Failed> => {
    worker.inFlight += 1;
    const exchange = await worker.client.exchange({ ...context, body: search.body });
    worker.inFlight -= 1;
    const result = judge(exchange, search.request, context);
    options.onTry(worker.name, result.kind === 'answer' ? 'answered' : 'failed');
    if (result.kind === 'answer') return result;
    const { requestId } = context;
    log.warn(
      { requestId, node: worker.name, fault: result.fault },
      'search-core did not answer the search',
    );
    if (result.isNodesOwn && !isBusy(exchange)) worker.node.leaveOut(result.fault);
    return result;
  };

  /** Who is asked next: of those that serve, or of all where none is known to, since a look may be old. */
  const next = (tried: ReadonlySet<Worker>, body: Buffer) => {
    const serving = workers.filter((one) => !tried.has(one) && one.node.state().ready);
    const isLast = serving.length < 2 || tried.size + 1 === TRIES_MAX;
    const candidates = serving.length > 0 || tried.size > 0 ? serving : workers;
    return { worker: chooseNode(candidates, body), isLast };
  };

  const run: RunSearch = async (request, context) => {
    const body = Buffer.from(JSON.stringify(request));
    const endMs = clock.monotonicMs() + options.timeoutMs;
    const tried = new Set<Worker>();
    let refusal = refuse('service_unavailable', GONE, { retryAfterSeconds: 2 });
    for (;;) {
      const { worker, isLast } = next(tried, body);
      if (!worker) return refusal;
      tried.add(worker);
      const leftMs = endMs - clock.monotonicMs();
      const timeoutMs = isLast ? leftMs : leftMs / 2;
      const result = await tryOn(worker, { request, body }, { ...context, timeoutMs });
      if (result.kind === 'answer') return result;
      ({ refusal } = result);
      if (isLast || !result.isNodesOwn) return refusal;
    }
  };
  const close = (): void => {
    for (const { client } of workers) client.close();
  };
  return Object.assign(run, { close });
}

/** Whether a node is well, and has enough to do. */
const isBusy = (exchange: Exchange) => exchange.kind === 'response' && exchange.status === 503;
