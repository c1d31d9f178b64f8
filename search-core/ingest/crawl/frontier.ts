/**
 * What is still to be fetched: one queue for each host, one exchange at a time with each, and a
 * pause between two of them. It also knows the traps: endless queries, repeating paths, depth.
 */

export interface Entry {
  readonly url: string;
  readonly kind: 'page' | 'sitemap';
  /** Links from a seed to here. */
  readonly depth: number;
  /** Redirects that led here. */
  readonly hops: number;
  /** Attempts that failed for a reason that may pass. */
  readonly tries: number;
}

export interface FrontierLimits {
  readonly depthMax: number;
  /** Addresses fetched at the most, sitemaps included. */
  readonly fetchesMax: number;
}

/** Addresses known at a time, waiting ones and fetched ones. */
const KNOWN_MAX = 500_000;
const QUERIES_PER_PATH_MAX = 50;
const SEGMENTS_MAX = 20;
const SEGMENT_REPEATS_MAX = 2;
const SITEMAPS_MAX = 50;

/** Why an address was not even queued. */
type FrontierFault = 'too_deep' | 'query_trap' | 'path_trap' | 'frontier_full' | 'sitemap_limit';

/** Everything needed to go on later. */
export interface FrontierState {
  readonly waiting: readonly Entry[];
  readonly known: readonly string[];
  readonly hosts: readonly string[];
  readonly fetches: number;
}

export interface Frontier {
  /** Hosts that belong to the crawl, with their ports. */
  readonly hosts: ReadonlySet<string>;
  addHost(host: string): void;
  /** Queues an address that is new and in scope; says so when it was turned away. */
  add(entry: Entry): FrontierFault | undefined;
  /** Queues an entry again that was taken. */
  again(entry: Entry): void;
  /** An entry whose host may be asked at `nowMs`; else how long to wait; else the end. */
  take(nowMs: number): { entry: Entry } | { waitMs: number } | undefined;
  /** Ends the exchange for an entry; its host is left alone until `readyMs`. */
  finish(entry: Entry, readyMs: number): void;
  /** Forgets what waits for a host; returns how much. */
  dropHost(host: string): number;
  readonly waiting: number;
  readonly fetches: number;
  state(): FrontierState;
}

interface Host {
  readonly queue: Entry[];
  readyMs: number;
  busy: Entry | undefined;
}

/** While every host is busy: look again after so long. */
const BUSY_WAIT_MS = 20;

export function createFrontier(limits: FrontierLimits, earlier?: FrontierState): Frontier {
  const scope = new Set(earlier?.hosts);
  const known = new Set(earlier?.known);
  const queries = new Map<string, number>();
  const queues = new Map<string, Host>();
  let fetches = earlier?.fetches ?? 0;
  let sitemaps = 0;
  const push = (entry: Entry): void => {
    const name = new URL(entry.url).host;
    const host = queues.get(name) ?? { queue: [], readyMs: 0, busy: undefined };
    queues.set(name, host);
    host.queue.push(entry);
  };
  for (const entry of earlier?.waiting ?? []) push(entry);
  const all = (): Entry[] =>
    [...queues.values()].flatMap(({ busy, queue }) => (busy ? [busy, ...queue] : queue));
  return {
    hosts: scope,
    addHost: (host) => void scope.add(host),
    add: (entry) => {
      const url = new URL(entry.url);
      if (known.has(entry.url) || !scope.has(url.host)) return undefined;
      const fault = entry.kind === 'page' ? trapOf(url, entry, limits, queries) : undefined;
      if (fault !== undefined) return fault;
      if (entry.kind === 'sitemap' && (sitemaps += 1) > SITEMAPS_MAX) return 'sitemap_limit';
      if (known.size >= KNOWN_MAX) return 'frontier_full';
      known.add(entry.url);
      push(entry);
      return undefined;
    },
    again: push,
    take: (nowMs) => {
      if (fetches >= limits.fetchesMax)
        return isIdle(queues) ? undefined : { waitMs: BUSY_WAIT_MS };
      let waitMs: number | undefined;
      for (const host of queues.values()) {
        if (host.busy) waitMs = Math.min(waitMs ?? BUSY_WAIT_MS, BUSY_WAIT_MS);
        else if (host.queue.length > 0 && host.readyMs > nowMs) {
          waitMs = Math.min(waitMs ?? Infinity, host.readyMs - nowMs);
        } else {
          const entry = host.queue.shift();
          if (!entry) continue;
          host.busy = entry;
          fetches += 1;
          return { entry };
        }
      }
      return waitMs === undefined ? undefined : { waitMs };
    },
    finish: (entry, readyMs) => {
      const host = queues.get(new URL(entry.url).host);
      if (!host) return;
      host.busy = undefined;
      host.readyMs = readyMs;
    },
    dropHost: (name) => queues.get(name)?.queue.splice(0).length ?? 0,
    get waiting() {
      return all().length;
    },
    get fetches() {
      return fetches;
    },
    state: () => ({ waiting: all(), known: [...known], hosts: [...scope], fetches }),
  };
}

function isIdle(queues: ReadonlyMap<string, Host>): boolean {
  return [...queues.values()].every(({ busy }) => busy === undefined);
}

function trapOf(
  url: URL,
  entry: Entry,
  { depthMax }: FrontierLimits,
  queries: Map<string, number>,
): FrontierFault | undefined {
  if (entry.depth > depthMax) return 'too_deep';
  if (pathTrap(url)) return 'path_trap';
  if (url.search === '') return undefined;
  const path = url.origin + url.pathname;
  const count = (queries.get(path) ?? 0) + 1;
  queries.set(path, count);
  return count > QUERIES_PER_PATH_MAX ? 'query_trap' : undefined;
}

/** Whether a path is one that only endless sites have: very long, or the same step again and again. */
export function pathTrap({ pathname }: URL): boolean {
  const segments = pathname.split('/').filter((segment) => segment !== '');
  if (segments.length > SEGMENTS_MAX) return true;
  return segments.some(
    (segment) => segments.filter((other) => other === segment).length > SEGMENT_REPEATS_MAX,
  );
}
