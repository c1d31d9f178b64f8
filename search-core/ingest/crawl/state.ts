/** What a crawl holds while it runs, and how it begins: anew, or where it was stopped. */
import { readFile } from 'node:fs/promises';
import { createGate, type Gate } from '../gate.js';
import { createExtractPool } from '../html/pool.js';
import type { CommandPorts, LoadOptions } from '../load.js';
import type { Page } from '../page.js';
import { openSpool, type Spool } from '../spool.js';
import { createTally, type Drop, type Tally } from '../tally.js';
import { createFetcher, type Fetcher, type FetchPorts } from './fetch.js';
import { createFrontier, type Frontier, type FrontierState } from './frontier.js';
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
const USER_AGENT = `${PRODUCT_TOKEN}/0.1 (search402; obeys robots.txt)`;

interface Position {
  readonly frontier: FrontierState;
  readonly visits: readonly Visit[];
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
  /** Visits of the last complete crawl, by address. */
  readonly earlier: ReadonlyMap<string, Visit>;
  readonly visits: Visit[];
  readonly gone: string[];
  fresh: Page[];
  sinceCheckpoint: number;
  bytes: number;
  saving: Promise<void>;
}

/** Begins a crawl, or goes on with the one that the directory holds. */
export async function startCrawl(
  urls: readonly string[],
  directory: string,
  visitsFile: string,
  options: CrawlOptions,
  ports: CrawlPorts,
): Promise<Crawl> {
  const spool = await openSpool<Position>(directory);
  const position = spool.state?.position;
  const frontier = createFrontier(options, position?.frontier);
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
    earlier: options.isAddition ? await readVisits(visitsFile) : new Map<string, Visit>(),
    visits: [...(position?.visits ?? [])],
    gone: [...(position?.gone ?? [])],
    fresh: [],
    sinceCheckpoint: 0,
    bytes: 0,
    saving: Promise.resolve(),
  };
}

async function readVisits(file: string): Promise<Map<string, Visit>> {
  try {
    const visits = JSON.parse(await readFile(file, 'utf8')) as Visit[];
    return new Map(visits.map((one) => [one.url, one]));
  } catch {
    // No complete crawl before this one.
    return new Map();
  }
}
