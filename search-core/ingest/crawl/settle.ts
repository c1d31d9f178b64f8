/** What the answer of one address means for the crawl. Nothing here waits. */
import type { Page } from '../page.js';
import { canonicalUrl } from '../url.js';
import type { Entry } from './frontier.js';
import type { Crawl } from './state.js';
import type { VisitOutcome, VisitResult } from './visit.js';

const HOPS_MAX = 5;
const TRIES_MAX = 3;
/** After so many failures in a row a host is left alone. */
const FAILURES_MAX = 10;

/** Queues an address, or counts why not. */
export function addEntry(entry: Entry, { frontier, tally }: Crawl): void {
  const fault = frontier.add(entry);
  if (fault !== undefined) tally.drop(fault, entry.url);
}

/** Counts, follows, keeps, or forgets. */
export function settle(entry: Entry, result: VisitResult, crawl: Crawl): void {
  const { tally, visits, gone, earlier, frontier } = crawl;
  const isPage = entry.kind === 'page';
  const follow = (links: readonly string[]): void => {
    const depth = entry.depth + 1;
    for (const url of links) addEntry({ url, kind: 'page', depth, hops: 0, tries: 0 }, crawl);
  };
  const leaveIndex = (): void => {
    const known = earlier.get(entry.url);
    if (known) gone.push(known.page);
  };
  switch (result.kind) {
    case 'page':
      visits.push({ ...result.visit, outcome: takePage(result.page, entry, crawl) });
      follow(result.visit.links);
      return;
    case 'unchanged':
      crawl.unchanged.push(entry.url);
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
      for (const listed of result.sitemap.listed) {
        const url = canonicalUrl(listed.url);
        if (url !== undefined) addEntry({ url, kind, depth: 1, hops: 0, tries: 0 }, crawl);
      }
      return;
    }
    case 'redirect':
      leaveIndex();
      if (isPage) tally.drop(entry.hops < HOPS_MAX ? 'redirect' : 'too_many_redirects', entry.url);
      // A seed may live on another host than it was given with: www or not, http or https.
      if (isPage && entry.depth === 0) frontier.addHost(new URL(result.to).host);
      if (entry.hops < HOPS_MAX)
        addEntry({ ...entry, url: result.to, hops: entry.hops + 1 }, crawl);
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
      if (result.reason === 'robots_disallowed') leaveIndex();
      if (isPage) tally.drop(result.reason, entry.url);
      return;
  }
}

function takePage(page: Page, entry: Entry, crawl: Crawl): VisitOutcome {
  const { gate, tally, fresh, gone, earlier } = crawl;
  const known = earlier.get(entry.url);
  const fault = gate.admit(page);
  // A copy of another page may be that page under a new address, so it is left alone.
  const isOut = fault !== undefined && !fault.includes('duplicate');
  if (known && (isOut || known.page !== page.url)) gone.push(known.page);
  if (fault !== undefined) {
    tally.drop(fault, entry.url);
    return isOut ? 'refused' : 'duplicate';
  }
  tally.keep();
  fresh.push(page);
  crawl.bytes += page.text.length;
  return 'indexed';
}

/** A host that keeps failing is not asked again: its addresses would only cost their timeouts. */
export function giveUpOnDeadHost(host: string, result: VisitResult, crawl: Crawl): void {
  const isFailure =
    result.kind === 'later' || (result.kind === 'refused' && result.reason === 'timeout');
  const count = isFailure ? (crawl.failures.get(host) ?? 0) + 1 : 0;
  crawl.failures.set(host, count);
  if (count < FAILURES_MAX) return;
  for (let left = crawl.frontier.dropHost(host); left > 0; left -= 1) {
    crawl.tally.drop('host_unreachable', host);
  }
}
