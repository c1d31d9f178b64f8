/** Which addresses belong to a source, and the limits against traps and endless sites. */
import { pathTrap } from '../crawl/frontier.js';
import type { LiveBlocklist } from '../blocked/blocklist.js';
import type { AddressKind, NewAddress } from './address.js';
import { type Books, hashOf } from './books.js';
import { crawlSeeds } from './common-crawl.js';
import type { Source, Sources } from './sources.js';

export type ScopeFault =
  | 'too_deep'
  | 'path_trap'
  | 'query_trap'
  | 'source_full'
  | 'blocked'
  /** The source names another host, and its further hosts are used up. */
  | 'other_host';

const QUERIES_PER_PATH_MAX = 50;
/** Paths share counters: more of them than counters only means that a few stop earlier. */
const COUNTERS = 1 << 20;
/** Addresses that were added or turned away a moment ago: most links of a site are on each page. */
const SEEN_MAX = 50_000;

interface Bounds {
  readonly depthMax: number;
  readonly pagesMax: number;
  readonly furtherHosts: number;
  readonly followsLinks: boolean;
}

export class Scope {
  private readonly sources = new Map<number, { source: Source; bounds: Bounds }>();
  private readonly counts = new Map<number, number>();
  /** Hosts of each source: own ones, then those that links led to. */
  private readonly own = new Map<number, Set<string>>();
  private readonly further = new Map<number, Set<string>>();
  private readonly queries = new Uint8Array(COUNTERS);
  private readonly seen = new Set<string>();

  constructor(
    private readonly books: Books,
    private readonly blocklist: LiveBlocklist,
    /** Told where an address became due. */
    private readonly onDue: (host: string, dueSeconds: number) => void,
  ) {
    this.reread();
  }

  /** Reads the counts from the books: at the start, and after a rollback. */
  reread(): void {
    this.seen.clear();
    this.counts.clear();
    for (const { source, count } of this.books.all(
      'SELECT source, COUNT(*) count FROM addresses GROUP BY source',
    )) {
      this.counts.set(Number(source), Number(count));
    }
    this.queries.fill(0);
    for (const { url } of this.books.all("SELECT url FROM addresses WHERE url LIKE '%?%'")) {
      this.countQuery(new URL(String(url)));
    }
    this.own.clear();
    this.further.clear();
    for (const { source, name, own } of this.books.all(
      'SELECT source, name, own FROM further_hosts JOIN hosts ON hosts.id = host',
    )) {
      const hosts = own === 1 ? this.own : this.further;
      setOf(hosts, Number(source)).add(String(name));
    }
  }

  /** What the file of sources names now. */
  use(sources: ReadonlyMap<number, Source>): void {
    this.sources.clear();
    this.seen.clear();
    for (const [id, source] of sources) this.sources.set(id, { source, bounds: boundsOf(source) });
  }

  /** The sources' own addresses. */
  addSeeds(places: Sources['commonCrawl'], nowSeconds: number): void {
    for (const [id, { source }] of this.sources) {
      for (const { url, kind } of seedsOf(source, places)) {
        this.add({ url, kind, source: id, depth: 0, hops: 0, dueSeconds: nowSeconds });
      }
    }
  }

  /** The source of this number, if the file still names it. */
  source(id: number): Source | undefined {
    return this.sources.get(id)?.source;
  }

  followsLinks(id: number): boolean {
    return this.sources.get(id)?.bounds.followsLinks ?? false;
  }

  /** Takes an address up if it is new and in scope; says why where it was turned away. */
  add(address: NewAddress): ScopeFault | undefined {
    const name = `${address.source} ${address.kind} ${address.url}`;
    if (this.seen.has(name)) return undefined;
    if (this.seen.size >= SEEN_MAX) this.seen.clear();
    this.seen.add(name);
    const found = this.sources.get(address.source);
    if (!found) return undefined;
    const url = new URL(address.url);
    const fault = this.faultOf(url, address, found.bounds);
    if (fault !== undefined) return fault;
    if (!this.isHostOf(url.host, address.source, found)) return 'other_host';
    if (!this.books.add(address)) return undefined;
    this.counts.set(address.source, (this.counts.get(address.source) ?? 0) + 1);
    if (url.search !== '') this.countQuery(url);
    this.onDue(url.host, address.dueSeconds);
    return undefined;
  }

  /** An address that is known is due now: a list says that it has changed. */
  hurry(address: { readonly kind: AddressKind; readonly url: string }, dueSeconds: number): void {
    this.books.hurry(address, dueSeconds);
    this.onDue(new URL(address.url).host, dueSeconds);
  }

  /** A host that the source's own address leads to. */
  addOwnHost(source: number, host: string): void {
    this.addHost(source, host, true);
  }

  private faultOf(
    url: URL,
    { url: address, kind, depth, source }: NewAddress,
    { depthMax, pagesMax }: Bounds,
  ): ScopeFault | undefined {
    if (this.blocklist.now.blocks(address)) return 'blocked';
    if ((this.counts.get(source) ?? 0) >= pagesMax) return 'source_full';
    if (kind !== 'page') return undefined;
    if (depth > depthMax) return 'too_deep';
    if (pathTrap(url)) return 'path_trap';
    if (url.search === '') return undefined;
    return (this.queries[counterOf(url)] ?? 0) >= QUERIES_PER_PATH_MAX ? 'query_trap' : undefined;
  }

  private isHostOf(
    host: string,
    id: number,
    { source, bounds }: { source: Source; bounds: Bounds },
  ): boolean {
    if (!('url' in source) || new URL(source.url).host === host) return true;
    if (this.own.get(id)?.has(host) === true) return true;
    const further = setOf(this.further, id);
    if (further.has(host)) return true;
    if (further.size >= bounds.furtherHosts) return false;
    this.addHost(id, host, false);
    return true;
  }

  private addHost(source: number, host: string, isOwn: boolean): void {
    setOf(isOwn ? this.own : this.further, source).add(host);
    this.books.run(
      'INSERT OR REPLACE INTO further_hosts (source, host, own) VALUES (?, ?, ?)',
      ...[source, this.books.host(host), isOwn ? 1 : 0],
    );
  }

  private countQuery(url: URL): void {
    const at = counterOf(url);
    this.queries[at] = Math.min(255, (this.queries[at] ?? 0) + 1);
  }
}

function seedsOf(
  source: Source,
  places: Sources['commonCrawl'],
): { readonly url: string; readonly kind: AddressKind }[] {
  switch (source.kind) {
    case 'site':
      return [{ url: source.url, kind: 'page' }];
    case 'sitemap':
    case 'feed':
      return [{ url: source.url, kind: source.kind }];
    case 'common-crawl':
      return crawlSeeds(source, places);
    case 'warc':
    case 'jsonl':
      return [];
  }
}

function boundsOf(source: Source): Bounds {
  switch (source.kind) {
    case 'site':
      return {
        depthMax: source.depth,
        pagesMax: source.pagesMax,
        furtherHosts: source.furtherHosts,
        followsLinks: true,
      };
    case 'sitemap':
    case 'feed':
      return {
        depthMax: 1,
        pagesMax: source.pagesMax,
        furtherHosts: source.furtherHosts,
        followsLinks: false,
      };
    case 'common-crawl':
      return { depthMax: 0, pagesMax: source.pagesMax, furtherHosts: 0, followsLinks: false };
    case 'warc':
    case 'jsonl':
      return { depthMax: 0, pagesMax: Infinity, furtherHosts: 0, followsLinks: false };
  }
}

const counterOf = (url: URL): number =>
  Number(hashOf(url.origin + url.pathname) & BigInt(COUNTERS - 1));

function setOf(sets: Map<number, Set<string>>, key: number): Set<string> {
  const known = sets.get(key) ?? new Set<string>();
  sets.set(key, known);
  return known;
}
