/** One look at an address: asked politely, answered in the watch's own terms. */
import { canonicalUrl } from '../url.js';
import type { Fetcher, FetchLimits } from '../crawl/fetch.js';
import type { Listed } from '../crawl/sitemap.js';
import {
  type Answer,
  ask,
  readPage,
  readSitemap,
  SITEMAP_BYTES_MAX,
  type Validators,
} from '../crawl/visit.js';
import { decodePage } from '../charset.js';
import type { ExtractPool } from '../html/pool.js';
import type { Page } from '../page.js';
import type { AddressKind, Known, ListedAddress } from './address.js';
import { askIndex, fetchRecord, readIndex } from './common-crawl.js';
import { parseFeed } from './feed.js';
import type { Sources, SourceOf } from './sources.js';

export type LookResult =
  | Exclude<Answer, { kind: 'content' }>
  | {
      readonly kind: 'page';
      readonly page: Page;
      readonly links: readonly string[];
      readonly etag: string | undefined;
      readonly modified: string | undefined;
    }
  /** A page out of an archive, or why there is none. */
  | { readonly kind: 'archived'; readonly page: Page | string }
  /** Nothing to index, but links to follow. */
  | { readonly kind: 'links'; readonly reason: string; readonly links: readonly string[] }
  | {
      readonly kind: 'list';
      readonly listed: readonly ListedAddress[];
      /** What the list says, so that a change of it shows. */
      readonly text: string;
      readonly etag: string | undefined;
      readonly modified: string | undefined;
    };

export interface LookPorts {
  readonly fetcher: Fetcher;
  readonly pool: ExtractPool;
  readonly limits: FetchLimits;
}

/** Looks at a page, a sitemap or a feed. */
export async function look(known: Known, ports: LookPorts): Promise<LookResult> {
  const { fetcher, pool, limits } = ports;
  const bytesMax = known.kind === 'page' ? limits.bytesMax : SITEMAP_BYTES_MAX;
  const answer = await ask(known.url, validatorsOf(known), fetcher, { ...limits, bytesMax });
  if (answer.kind !== 'content') return answer;
  const { got } = answer;
  const fresh = { etag: got.headers.etag, modified: got.headers['last-modified'] };
  switch (known.kind) {
    case 'page': {
      const read = await readPage(known.url, got, pool);
      if (read.kind === 'page') {
        return { kind: 'page', page: read.page, links: read.visit.links, ...fresh };
      }
      return read.kind === 'links' || read.kind === 'refused' ? read : unreadable();
    }
    case 'sitemap': {
      const read = readSitemap(got);
      if (read.kind !== 'sitemap') return read.kind === 'refused' ? read : unreadable();
      const kind = read.sitemap.kind === 'pages' ? 'page' : 'sitemap';
      return listOf(known.url, kind, read.sitemap.listed, fresh);
    }
    default: {
      const text = decodePage(got.body, got.headers['content-type'] ?? 'text/xml');
      return listOf(known.url, 'page', parseFeed(text), fresh);
    }
  }
}

const unreadable = (): LookResult => ({ kind: 'refused', reason: 'damaged_content' });

/** Looks at a list of crawls, a piece of a URL index, or a record of an archive. */
export async function lookAtArchive(
  known: Known,
  source: SourceOf<'common-crawl'>,
  places: Sources['commonCrawl'],
  { fetcher, pool, limits }: LookPorts,
): Promise<LookResult> {
  const { kind, url } = known;
  if (kind === 'record') {
    const page = await fetchRecord(url, fetcher, pool, limits);
    const isAnswer = typeof page === 'object' && 'kind' in page;
    if (!isAnswer) return { kind: 'archived', page };
    // Records do not change: what is not there now never will be.
    return page.kind === 'later' ? page : { kind: 'archived', page: reasonOf(page) };
  }
  if (kind !== 'crawls' && kind !== 'captures') return unreadable();
  const answer = await askIndex(url, validatorsOf(known), fetcher, limits);
  // The index says 404 where it has nothing for a pattern.
  if (answer.kind === 'gone' && kind === 'captures') return emptyList();
  if (answer.kind !== 'content') return answer;
  const { headers, body } = answer.got;
  const listed = readIndex(kind, url, body.toString('utf8'), source, places);
  if (listed === undefined) return { kind: 'later', reason: 'damaged_index', pauseMs: 0 };
  const text = listed.map((one) => one.url).join('\n');
  return { kind: 'list', listed, text, etag: headers.etag, modified: headers['last-modified'] };
}

const reasonOf = (answer: { readonly kind: string; readonly reason?: string }): string =>
  answer.reason ?? answer.kind;

const emptyList = (): LookResult => ({
  kind: 'list',
  listed: [],
  text: '',
  etag: undefined,
  modified: undefined,
});

function validatorsOf({ etag, modified }: Known): Validators {
  return { ...(etag !== undefined && { etag }), ...(modified !== undefined && { modified }) };
}

function listOf(
  base: string,
  kind: AddressKind,
  listed: readonly Listed[],
  fresh: { readonly etag: string | undefined; readonly modified: string | undefined },
): LookResult {
  const addresses = listed.flatMap(({ url, changedSeconds }) => {
    const canonical = canonicalUrl(url, base);
    return canonical === undefined ? [] : [{ url: canonical, changedSeconds, kind }];
  });
  const text = addresses.map(({ url, changedSeconds }) => `${url} ${changedSeconds}`).join('\n');
  return { kind: 'list', listed: addresses, text, ...fresh };
}
