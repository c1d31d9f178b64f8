/** One visit of the crawler: what an address answered, turned into what the crawl needs to know. */
import { gunzipSync } from 'node:zlib';
import { decodePage } from '../charset.js';
import type { ExtractPool } from '../html/pool.js';
import type { Page } from '../page.js';
import { canonicalUrl } from '../url.js';
import type { Fetched, Fetcher, FetchLimits } from './fetch.js';
import type { Entry } from './frontier.js';
import { parseSitemap, type Sitemap } from './sitemap.js';

/** What is remembered of a page for the next crawl. */
export interface Visit {
  readonly url: string;
  /** The page's address in the index. */
  readonly page: string;
  readonly etag?: string;
  readonly modified?: string;
  readonly links: readonly string[];
  readonly outcome: VisitOutcome;
}

/** The page is in the index, or says what another page of the run said, or was turned away. */
export type VisitOutcome = 'indexed' | 'duplicate' | 'refused';

export type VisitResult =
  | { readonly kind: 'page'; readonly page: Page; readonly visit: Omit<Visit, 'outcome'> }
  /** Nothing to index, but links to follow (`noindex`). */
  | { readonly kind: 'links'; readonly reason: string; readonly links: readonly string[] }
  | { readonly kind: 'unchanged'; readonly visit: Visit }
  | { readonly kind: 'redirect'; readonly to: string }
  | { readonly kind: 'sitemap'; readonly sitemap: Sitemap }
  /** 404 and 410: it is not there any more. */
  | { readonly kind: 'gone'; readonly reason: string }
  /** It may work later; with the server's own wish for a pause. */
  | { readonly kind: 'later'; readonly reason: string; readonly pauseMs: number }
  | { readonly kind: 'refused'; readonly reason: string };

export interface VisitPorts {
  readonly fetcher: Fetcher;
  readonly pool: ExtractPool;
  readonly limits: FetchLimits;
}

const RETRY_PAUSE_MS = 5_000;
const RETRY_PAUSE_MAX_MS = 60_000;
const SITEMAP_BYTES_MAX = 50 * 1024 * 1024;

/** Fetches an address; conditionally (RFC 9110, section 13.1) where an earlier visit is known. */
export async function visit(
  entry: Entry,
  earlier: Visit | undefined,
  { fetcher, pool, limits }: VisitPorts,
): Promise<VisitResult> {
  const isSitemap = entry.kind === 'sitemap';
  const bytesMax = isSitemap ? SITEMAP_BYTES_MAX : limits.bytesMax;
  const got = await fetcher.get(entry.url, { ...limits, bytesMax }, conditions(earlier));
  if (got === 'unreachable') return { kind: 'later', reason: got, pauseMs: RETRY_PAUSE_MS };
  if (typeof got === 'string') return { kind: 'refused', reason: got };
  // A 304 to a request without conditions says nothing (RFC 9110, section 15.4.5).
  const isConditional = earlier?.etag !== undefined || earlier?.modified !== undefined;
  if (got.status === 304 && isConditional) return { kind: 'unchanged', visit: earlier };
  const location = got.headers.location;
  if (got.status >= 300 && got.status < 400) {
    const to = location === undefined ? undefined : canonicalUrl(location, entry.url);
    return to === undefined
      ? { kind: 'refused', reason: 'bad_redirect' }
      : { kind: 'redirect', to };
  }
  if (got.status === 404 || got.status === 410) return { kind: 'gone', reason: 'http_status' };
  if (got.status === 429 || got.status === 503) {
    return { kind: 'later', reason: 'http_status', pauseMs: retryAfterMs(got) };
  }
  if (got.status !== 200) return { kind: 'refused', reason: 'http_status' };
  return isSitemap ? readSitemap(got) : readPage(entry, got, pool);
}

function conditions(earlier: Visit | undefined): Record<string, string> {
  return {
    ...(earlier?.etag !== undefined && { 'if-none-match': earlier.etag }),
    ...(earlier?.modified !== undefined && { 'if-modified-since': earlier.modified }),
  };
}

/** `Retry-After` in seconds (a date is as good as none), within a minute. */
function retryAfterMs({ headers }: Fetched): number {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0
    ? Math.min(seconds * 1_000, RETRY_PAUSE_MAX_MS)
    : RETRY_PAUSE_MS;
}

function readSitemap({ body }: Fetched): VisitResult {
  let bytes = body;
  try {
    if (body[0] === 0x1f && body[1] === 0x8b) {
      bytes = gunzipSync(body, { maxOutputLength: SITEMAP_BYTES_MAX });
    }
  } catch {
    return { kind: 'refused', reason: 'damaged_content' };
  }
  return { kind: 'sitemap', sitemap: parseSitemap(decodePage(bytes, 'text/xml')) };
}

async function readPage(
  entry: Entry,
  { headers, body }: Fetched,
  pool: ExtractPool,
): Promise<VisitResult> {
  const type = headers['content-type'] ?? '';
  if (!/^\s*(?:text\/html|application\/xhtml\+xml)\b/iu.test(type)) {
    return { kind: 'refused', reason: 'not_html' };
  }
  const found = await pool.extract({ html: decodePage(body, type), url: entry.url });
  if (typeof found === 'string') return { kind: 'refused', reason: found };
  const robots = headers['x-robots-tag']?.toLowerCase() ?? '';
  const isNoFollow = found.isNoFollow || /\b(?:nofollow|none)\b/u.test(robots);
  const isNoIndex = found.isNoIndex || /\b(?:noindex|none)\b/u.test(robots);
  const links = isNoFollow ? [] : found.links;
  if (isNoIndex) return { kind: 'links', reason: 'noindex', links };
  if (found.title === '') return { kind: 'links', reason: 'no_title', links };
  const url = found.canonical ?? entry.url;
  const { etag, 'last-modified': modified } = headers;
  return {
    kind: 'page',
    page: { url, title: found.title, text: found.text },
    visit: {
      url: entry.url,
      page: url,
      links,
      ...(etag !== undefined && { etag }),
      ...(modified !== undefined && { modified }),
    },
  };
}
