/** `npm run index -- crawl URL…`: the pages of web sites, politely, resumable, repeatable. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createGate, type Gate } from '../gate.js';
import { createExtractPool } from '../html/pool.js';
import { type CommandPorts, IngestError, type LoadOptions, loadSpool } from '../load.js';
import type { Page } from '../page.js';
import type { Report } from '../report.js';
import { jobDirectory, openSpool, type Spool } from '../spool.js';
import { createTally, type Drop, type Tally } from '../tally.js';
import { canonicalUrl } from '../url.js';
import { createFetcher, type Fetcher, type FetchPorts } from './fetch.js';
import { createFrontier, type Entry, type Frontier, type FrontierState } from './frontier.js';
import { robotsOf } from './robots-fetch.js';
import type { Robots } from './robots.js';
import { visit, type Visit, type VisitPorts, type VisitResult } from './visit.js';

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
const PRODUCT_TOKEN = 'searchcore';
const USER_AGENT = `${PRODUCT_TOKEN}/0.1 (search402; obeys robots.txt)`;
const HOPS_MAX = 5;
const TRIES_MAX = 3;
/** Exchanges at a time, each with another host. */
const LANES = 8;
const CHECKPOINT_FETCHES = 100;
/** After so many failures in a row a host is left alone. */
const FAILURES_MAX = 10;

interface Position {
  readonly frontier: FrontierState;
  readonly visits: readonly Visit[];
  readonly gone: readonly string[];
  readonly kept: number;
  readonly drops: readonly Drop[];
}

interface Crawl {
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

/** Crawls from the seeds, within their hosts; updates the index in one commit at the end. */
export async function indexCrawl(
  seeds: readonly string[],
  options: CrawlOptions,
  ports: CrawlPorts,
): Promise<Report> {
  const startedMs = ports.nowMs();
  const urls = seeds.map((seed) => {
    const url = canonicalUrl(seed);
    if (url === undefined) throw new IngestError(`not a web address: ${seed}`);
    return url;
  });
  const { depthMax, fetchesMax, isAddition } = options;
  const facts = { urls, depthMax, fetchesMax, isAddition };
  const directory = jobDirectory(options.index, 'crawl', facts);
  const visitsFile = `${directory}.visits.json`;
  const crawl = await start(urls, directory, visitsFile, options, ports);
  const { pool } = crawl.visiting;
  try {
    await Promise.all(Array.from({ length: LANES }, () => runLane(crawl)));
    await crawl.saving;
    if (ports.signal.aborted) {
      await checkpoint(crawl);
      throw new IngestError('stopped; the same command goes on from here, the index is as it was');
    }
    for (let left = crawl.frontier.waiting; left > 0; left -= 1)
      crawl.tally.drop('fetch_limit', '');
    await checkpoint(crawl);
  } finally {
    crawl.fetcher.close();
    await pool.close();
  }
  const { spool, tally, gone } = crawl;
  const job = { command: 'crawl', spool, tally, gone, startedMs };
  const report = await loadSpool({ ...job, isUpdate: crawl.earlier.size > 0 }, options, ports);
  await writeFile(`${visitsFile}.next`, JSON.stringify(crawl.visits));
  await rename(`${visitsFile}.next`, visitsFile);
  return report;
}

async function start(
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

/** Takes entries until there are none; several lanes run side by side. */
async function runLane(crawl: Crawl): Promise<void> {
  const { frontier, ports } = crawl;
  while (!ports.signal.aborted) {
    const next = frontier.take(ports.nowMs());
    if (next === undefined) return;
    if ('waitMs' in next) {
      await ports.sleep(next.waitMs, ports.signal);
      continue;
    }
    await handle(next.entry, crawl);
    const { kept, dropped } = crawl.tally;
    const state = { unit: 'addresses', units: frontier.fetches, kept, dropped, bytes: crawl.bytes };
    ports.progress.show(state);
    crawl.sinceCheckpoint += 1;
    if (crawl.sinceCheckpoint >= CHECKPOINT_FETCHES) await checkpoint(crawl);
  }
}

async function handle(entry: Entry, crawl: Crawl): Promise<void> {
  const { options, ports, frontier } = crawl;
  const robots = await robotsFor(entry, crawl);
  const { pathname, search, host } = new URL(entry.url);
  const result: VisitResult = robots.allows(pathname + search)
    ? await visit(entry, crawl.earlier.get(entry.url), crawl.visiting)
    : { kind: 'refused', reason: robots.reason };
  // From here on nothing waits, so a checkpoint sees an entry done wholly or not at all.
  const pauseMs = Math.max(options.delayMs, robots.delayMs ?? 0, pauseOf(result));
  frontier.finish(entry, ports.nowMs() + pauseMs);
  settle(entry, result, crawl);
  giveUpOnDeadHost(host, result, crawl);
}

function pauseOf(result: VisitResult): number {
  return result.kind === 'later' ? result.pauseMs : 0;
}

/** The host's robots.txt, fetched once; with it come its sitemaps. */
function robotsFor(entry: Entry, crawl: Crawl): Promise<Robots> {
  const { origin } = new URL(entry.url);
  const known = crawl.robots.get(origin);
  if (known) return known;
  const fetching = robotsOf(origin, PRODUCT_TOKEN, crawl.fetcher, crawl.visiting.limits).then(
    (robots) => {
      const named = robots.sitemaps.length > 0 ? robots.sitemaps : ['/sitemap.xml'];
      for (const sitemap of named) {
        const url = canonicalUrl(sitemap, origin);
        if (url !== undefined) add({ ...entry, url, kind: 'sitemap', depth: 0 }, crawl);
      }
      return robots;
    },
  );
  crawl.robots.set(origin, fetching);
  return fetching;
}

function add(entry: Entry, { frontier, tally }: Crawl): void {
  const fault = frontier.add(entry);
  if (fault !== undefined) tally.drop(fault, entry.url);
}

function settle(entry: Entry, result: VisitResult, crawl: Crawl): void {
  const { tally, visits, gone, earlier, frontier } = crawl;
  const isPage = entry.kind === 'page';
  const follow = (links: readonly string[]): void => {
    const depth = entry.depth + 1;
    for (const url of links) add({ url, kind: 'page', depth, hops: 0, tries: 0 }, crawl);
  };
  const leaveIndex = (): void => {
    const known = earlier.get(entry.url);
    if (known) gone.push(known.page);
  };
  switch (result.kind) {
    case 'page':
      takePage(result.page, entry, crawl);
      visits.push(result.visit);
      follow(result.visit.links);
      return;
    case 'unchanged':
      tally.drop('unchanged', entry.url);
      visits.push(result.visit);
      follow(result.visit.links);
      return;
    case 'links':
      tally.drop(result.reason, entry.url);
      leaveIndex();
      follow(result.links);
      return;
    case 'sitemap': {
      const kind = result.sitemap.kind === 'pages' ? 'page' : 'sitemap';
      for (const text of result.sitemap.urls) {
        const url = canonicalUrl(text);
        if (url !== undefined) add({ url, kind, depth: 1, hops: 0, tries: 0 }, crawl);
      }
      return;
    }
    case 'redirect':
      if (isPage) tally.drop(entry.hops < HOPS_MAX ? 'redirect' : 'too_many_redirects', entry.url);
      // A seed may live on another host than it was given with: www or not, http or https.
      if (isPage && entry.depth === 0) frontier.addHost(new URL(result.to).host);
      if (entry.hops < HOPS_MAX) add({ ...entry, url: result.to, hops: entry.hops + 1 }, crawl);
      return;
    case 'later':
      if (entry.tries + 1 < TRIES_MAX) frontier.again({ ...entry, tries: entry.tries + 1 });
      else if (isPage) tally.drop(result.reason, entry.url);
      return;
    case 'gone':
      leaveIndex();
      if (isPage) tally.drop(result.reason, entry.url);
      return;
    case 'refused':
      if (isPage) tally.drop(result.reason, entry.url);
      return;
  }
}

function takePage(page: Page, entry: Entry, crawl: Crawl): void {
  const fault = crawl.gate.admit(page);
  if (fault !== undefined) {
    crawl.tally.drop(fault, entry.url);
    return;
  }
  crawl.tally.keep();
  crawl.fresh.push(page);
  crawl.bytes += page.text.length;
}

/** A host that keeps failing is not asked again: its addresses would only cost their timeouts. */
function giveUpOnDeadHost(host: string, result: VisitResult, crawl: Crawl): void {
  const isFailure =
    result.kind === 'later' || (result.kind === 'refused' && result.reason === 'timeout');
  const count = isFailure ? (crawl.failures.get(host) ?? 0) + 1 : 0;
  crawl.failures.set(host, count);
  if (count < FAILURES_MAX) return;
  for (let left = crawl.frontier.dropHost(host); left > 0; left -= 1) {
    crawl.tally.drop('host_unreachable', host);
  }
}

/** One after the other: two lanes may ask for it at once. */
function checkpoint(crawl: Crawl): Promise<void> {
  const { spool, frontier, tally, visits, gone } = crawl;
  crawl.sinceCheckpoint = 0;
  crawl.saving = crawl.saving.then(() => {
    const pages = crawl.fresh;
    crawl.fresh = [];
    const counts = { kept: tally.kept, drops: tally.drops() };
    return spool.checkpoint(pages, { frontier: frontier.state(), visits, gone, ...counts });
  });
  return crawl.saving;
}
