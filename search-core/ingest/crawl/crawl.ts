/** `npm run index -- crawl URL…`: the pages of web sites, politely, resumable, repeatable. */
import { IngestError, loadSpool } from '../load.js';
import type { Report } from '../report.js';
import { doAlone, jobDirectory } from '../spool.js';
import { canonicalUrl } from '../url.js';
import type { Entry } from './frontier.js';
import { robotsOf } from './robots-fetch.js';
import { withoutValidators, writeMemory } from './memory.js';
import type { Robots } from './robots.js';
import { addEntry, giveUpOnDeadHost, settle } from './settle.js';
import {
  type Crawl,
  type CrawlOptions,
  type CrawlPorts,
  PRODUCT_TOKEN,
  startCrawl,
} from './state.js';
import { type Visit, visit, type VisitResult } from './visit.js';

/** Exchanges at a time, each with another host. */
const LANES = 8;
const CHECKPOINT_FETCHES = 100;

/** Crawls from the seeds, within their hosts; updates the index in one commit at the end. */
export async function indexCrawl(
  seeds: readonly string[],
  options: CrawlOptions,
  ports: CrawlPorts,
): Promise<Report> {
  const urls = seeds.map((seed) => {
    const url = canonicalUrl(seed);
    if (url === undefined) throw new IngestError(`not a web address: ${seed}`);
    return url;
  });
  const { index, depthMax } = options;
  const site = jobDirectory({ index, place: ports.sink.place }, 'crawl', { urls, depthMax });
  return doAlone(site, () => crawlAll(urls, site, options, ports));
}

async function crawlAll(
  urls: readonly string[],
  site: string,
  options: CrawlOptions,
  ports: CrawlPorts,
): Promise<Report> {
  const startedMs = ports.nowMs();
  const memoryFile = `${site}.visits.json`;
  const directory = options.isAddition ? site : `${site}-replace`;
  const crawl = await startCrawl(urls, directory, memoryFile, options, ports);
  const { pool } = crawl.visiting;
  try {
    await Promise.all(Array.from({ length: LANES }, () => runLane(crawl)));
    await crawl.saving;
    if (ports.signal.aborted) {
      await checkpoint(crawl);
      throw new IngestError('stopped; the same command goes on from here, the index is as it was');
    }
    await checkpoint(crawl);
  } finally {
    crawl.fetcher.close();
    await pool.close();
  }
  const { spool, tally, gone } = crawl;
  const job = { command: 'crawl', spool, tally, gone, startedMs };
  const report = await loadSpool({ ...job, isUpdate: crawl.earlier.size > 0 }, options, ports);
  const lost = await lostPages(crawl);
  const rest = crawl.frontier.waiting > 0 ? crawl.frontier.state() : undefined;
  await writeMemory(memoryFile, { visits: visitsToKeep(crawl, lost), rest });
  const { dropped } = tally;
  const waiting = rest?.waiting.length;
  return { ...report, dropped, drops: tally.drops(), ...(waiting !== undefined && { waiting }) };
}

/** Counts what is unchanged; returns the addresses whose pages left the index meanwhile. */
async function lostPages({ visits, unchanged, tally, ports }: Crawl): Promise<ReadonlySet<string>> {
  const addresses = new Set(unchanged);
  const indexed = visits.filter(({ url, outcome }) => addresses.has(url) && outcome === 'indexed');
  const held = await ports.sink.held(indexed.map(({ page }) => page));
  const lost = new Set(indexed.filter(({ page }) => !held.has(page)).map(({ url }) => url));
  for (const url of unchanged) tally.drop(lost.has(url) ? 'left_index' : 'unchanged', url);
  return lost;
}

/**
 * What the next run is told: this run's visits, and earlier ones of what this round has still to
 * ask for. Where pages went, a page that said the same as one of them gets another chance.
 */
function visitsToKeep(crawl: Crawl, lost: ReadonlySet<string>): Visit[] {
  const { known } = crawl.frontier.state();
  const inRound = new Set(known);
  const isUnfinished = crawl.frontier.waiting > 0;
  const kept = new Map<string, Visit>();
  for (const [url, visit] of crawl.earlier) {
    if (isUnfinished || inRound.has(url)) kept.set(url, visit);
  }
  for (const visit of crawl.visits) kept.set(visit.url, visit);
  for (const url of lost) kept.delete(url);
  const hasLess = crawl.gone.length > 0 || lost.size > 0;
  return [...kept.values()].map((visit) =>
    hasLess && visit.outcome === 'duplicate' ? withoutValidators(visit) : visit,
  );
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
        if (url !== undefined) addEntry({ ...entry, url, kind: 'sitemap', depth: 0 }, crawl);
      }
      return robots;
    },
  );
  crawl.robots.set(origin, fetching);
  return fetching;
}

/** One after the other: two lanes may ask for it at once. */
function checkpoint(crawl: Crawl): Promise<void> {
  const { spool, frontier, tally, visits, unchanged, gone } = crawl;
  crawl.sinceCheckpoint = 0;
  crawl.saving = crawl.saving.then(() => {
    const pages = crawl.fresh;
    crawl.fresh = [];
    const counts = { kept: tally.kept, drops: tally.drops() };
    return spool.checkpoint(pages, {
      frontier: frontier.state(),
      visits,
      unchanged,
      gone,
      ...counts,
    });
  });
  return crawl.saving;
}
