/** One look at an address: asked politely, answered in the watch's own terms. */
import { canonicalUrl } from '../url.js';
import type { Fetcher, FetchLimits } from '../crawl/fetch.js';
import type { Listed } from '../crawl/sitemap.js';
import { type Answer, ask, readPage, readSitemap, SITEMAP_BYTES_MAX } from '../crawl/visit.js';
import { decodePage } from '../charset.js';
import type { ExtractPool } from '../html/pool.js';
import type { Page } from '../page.js';
import type { AddressKind, Known } from './books.js';
import { parseFeed } from './feed.js';

/** An address that a list names, ready to be taken up. */
export interface ListedAddress extends Listed {
  readonly kind: AddressKind;
}

export type LookResult =
  | Exclude<Answer, { kind: 'content' }>
  | {
      readonly kind: 'page';
      readonly page: Page;
      readonly links: readonly string[];
      readonly etag: string | undefined;
      readonly modified: string | undefined;
    }
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
  const { etag, modified } = known;
  const validators = {
    ...(etag !== undefined && { etag }),
    ...(modified !== undefined && { modified }),
  };
  const answer = await ask(known.url, validators, fetcher, { ...limits, bytesMax });
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
