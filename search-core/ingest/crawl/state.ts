/** What a crawl holds while it runs, and how it begins: anew, or where it was stopped. */
import { createGate, type Gate } from '../gate.js';
import { createExtractPool } from '../html/pool.js';
import type { CommandPorts, LoadOptions } from '../load.js';
import type { Page } from '../page.js';
import { openSpool, type Spool } from '../spool.js';
import { createTally, type Drop, type Tally } from '../tally.js';
import { createFetcher, type Fetcher, type FetchPorts } from './fetch.js';
import { createFrontier, type Frontier, type FrontierState } from './frontier.js';
import { readMemory, withoutValidators } from './memory.js';
import type { Robots } from './robots.js';
import type { Visit, VisitPorts } from './visit.js';

export interface CrawlOptions extends LoadOptions {
  readonly depthMax: number;
  /** Addresses fetched at the most. */
  readonly fetchesMax: number;
  /** Pause between two requests to one host, milliseconds; robots.txt may ask for more. */
  readonly delayMs: number;
  /** Milliseconds for one address. */
  readonly timeoutMs: number;
  /** Bytes of one page. */
  readonly bytesMax: number;
}

export interface CrawlPorts extends CommandPorts, Omit<FetchPorts, 'userAgent'> {
  /** Resolves after `ms`, or at once when `signal` aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The name in robots.txt files; letters only, as RFC 9309, section 2.2.1, asks. */
export const PRODUCT_TOKEN = 'searchcore';
export const USER_AGENT = `${PRODUCT_TOKEN}/0.1 (search402; obeys robots.txt)`;

interface Position {
  readonly frontier: FrontierState;
  readonly visits: readonly Visit[];
  readonly unchanged: readonly string[];
  readonly gone: readonly string[];
  readonly kept: number;
  readonly drops: readonly Drop[];
}

export interface Crawl {
  readonly options: CrawlOptions;
  readonly ports: CrawlPorts;
  readonly spool: Spool<Position>;
  readonly frontier: Frontier;
  readonly fetcher: Fetcher;
  readonly visiting: VisitPorts;
  readonly robots: Map<string, Promise<Robots>>;
  readonly failures: Map<string, number>;
  readonly gate: Gate;
  readonly tally: Tally;
  /** Visits of earlier runs, by address. */
  readonly earlier: ReadonlyMap<string, Visit>;
  readonly visits: Visit[];
  /** Addresses whose server said that the page is as it was. */
  readonly unchanged: string[];
  readonly gone: string[];
  fresh: Page[];
  sinceCheckpoint: number;
  bytes: number;
  saving: Promise<void>;
}

/** Begins a crawl, or goes on with one that was stopped or that reached its limit. */
export async function startCrawl(
  urls: readonly string[],
  directory: string,
  memoryFile: string,
  options: CrawlOptions,
  ports: CrawlPorts,
): Promise<Crawl> {
  const spool = await openSpool<Position>(directory);
  const position = spool.state?.position;
  const memory = options.isAddition ? await readMemory(memoryFile) : undefined;
  const rest = memory?.rest && { ...memory.rest, fetches: 0 };
  const frontier = createFrontier(options, position?.frontier ?? rest);
  const gate = createGate();
  for await (const page of spool.pages()) gate.remember(page);
  const fetcher = createFetcher({ ...ports, userAgent: USER_AGENT });
  const { timeoutMs, bytesMax } = options;
  for (const url of urls) {
    frontier.addHost(new URL(url).host);
    frontier.add({ url, kind: 'page', depth: 0, hops: 0, tries: 0 });
  }
  return {
    options,
    ports,
    spool,
    frontier,
    fetcher,
    visiting: { fetcher, pool: createExtractPool(), limits: { timeoutMs, bytesMax } },
    robots: new Map(),
    failures: new Map(),
    gate,
    tally: createTally(position),
    earlier: await earlierVisits(memory?.visits ?? [], ports),
    visits: [...(position?.visits ?? [])],
    unchanged: [...(position?.unchanged ?? [])],
    gone: [...(position?.gone ?? [])],
    fresh: [],
    sinceCheckpoint: 0,
    bytes: 0,
    saving: Promise.resolve(),
  };
}

/**
 * Visits by address. "It is as it was" is an answer for those only whose page the index still has:
 * all others are asked for whole.
 */
async function earlierVisits(
  visits: readonly Visit[],
  { sink }: CrawlPorts,
): Promise<Map<string, Visit>> {
  const indexed = visits.filter(({ outcome }) => outcome === 'indexed');
  const held = await sink.held(indexed.map(({ page }) => page));
  return new Map(
    visits.map((visit) => {
      const isUsable = visit.outcome !== 'indexed' || held.has(visit.page);
      return [visit.url, isUsable ? visit : withoutValidators(visit)];
    }),
  );
}
