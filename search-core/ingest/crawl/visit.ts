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
export const SITEMAP_BYTES_MAX = 50 * 1024 * 1024;

/** What a server said about an address, before anybody reads what it sent. */
export type Answer =
  | { readonly kind: 'content'; readonly got: Fetched }
  | { readonly kind: 'unchanged' }
  | Extract<VisitResult, { kind: 'redirect' | 'gone' | 'later' | 'refused' }>;

/** What a conditional request needs (RFC 9110, section 13.1). */
export interface Validators {
  readonly etag?: string;
  readonly modified?: string;
}

/** Fetches an address; conditionally where an earlier visit is known. */
export async function visit(
  entry: Entry,
  earlier: Visit | undefined,
  { fetcher, pool, limits }: VisitPorts,
): Promise<VisitResult> {
  const isSitemap = entry.kind === 'sitemap';
  const bytesMax = isSitemap ? SITEMAP_BYTES_MAX : limits.bytesMax;
  const answer = await ask(entry.url, earlier ?? {}, fetcher, { ...limits, bytesMax });
  if (answer.kind === 'unchanged') {
    return earlier
      ? { kind: 'unchanged', visit: earlier }
      : { kind: 'refused', reason: 'http_status' };
  }
  if (answer.kind !== 'content') return answer;
  return isSitemap ? readSitemap(answer.got) : readPage(entry.url, answer.got, pool);
}

/** Asks for an address once, and says by name what came of it. */
export async function ask(
  url: string,
  validators: Validators,
  fetcher: Fetcher,
  limits: FetchLimits,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const got = await fetcher.get(url, limits, { ...conditions(validators), ...headers });
  if (got === 'unreachable') return { kind: 'later', reason: got, pauseMs: RETRY_PAUSE_MS };
  if (typeof got === 'string') return { kind: 'refused', reason: got };
  // A 304 to a request without conditions says nothing (RFC 9110, section 15.4.5).
  const isConditional = validators.etag !== undefined || validators.modified !== undefined;
  if (got.status === 304 && isConditional) return { kind: 'unchanged' };
  const location = got.headers.location;
  if (got.status >= 300 && got.status < 400) {
    const to = location === undefined ? undefined : canonicalUrl(location, url);
    return to === undefined
      ? { kind: 'refused', reason: 'bad_redirect' }
      : { kind: 'redirect', to };
  }
  if (got.status === 404 || got.status === 410) return { kind: 'gone', reason: 'http_status' };
  if (got.status === 429 || got.status === 503) {
    return { kind: 'later', reason: 'http_status', pauseMs: retryAfterMs(got) };
  }
  const isContent = got.status === 200 || (got.status === 206 && headers.range !== undefined);
  return isContent ? { kind: 'content', got } : { kind: 'refused', reason: 'http_status' };
}

function conditions({ etag, modified }: Validators): Record<string, string> {
  return {
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(modified !== undefined && { 'if-modified-since': modified }),
  };
}

/** `Retry-After` in seconds (a date is as good as none), within a minute. */
function retryAfterMs({ headers }: Fetched): number {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0
    ? Math.min(seconds * 1_000, RETRY_PAUSE_MAX_MS)
    : RETRY_PAUSE_MS;
}

/** Reads a sitemap, compressed or not. */
export function readSitemap({ body }: Fetched): VisitResult {
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

/** Reads a web page. */
export async function readPage(
  asked: string,
  { headers, body }: Fetched,
  pool: ExtractPool,
): Promise<VisitResult> {
  const type = headers['content-type'] ?? '';
  const isPdf = /^\s*application\/(?:x-)?pdf\b/iu.test(type);
  if (!isPdf && !/^\s*(?:text\/html|application\/xhtml\+xml)\b/iu.test(type)) {
    return { kind: 'refused', reason: 'not_html' };
  }
  const found = await pool.extract(
    isPdf ? { pdf: body, url: asked } : { html: decodePage(body, type), url: asked },
  );
  if (typeof found === 'string') return { kind: 'refused', reason: found };
  const robots = headers['x-robots-tag']?.toLowerCase() ?? '';
  const isNoFollow = found.isNoFollow || /\b(?:nofollow|none)\b/u.test(robots);
  const isNoIndex = found.isNoIndex || /\b(?:noindex|none)\b/u.test(robots);
  const links = isNoFollow ? [] : found.links;
  if (isNoIndex) return { kind: 'links', reason: 'noindex', links };
  if (found.title === '') return { kind: 'links', reason: 'no_title', links };
  const url = found.canonical ?? asked;
  const { etag, 'last-modified': modified } = headers;
  return {
    kind: 'page',
    page: { url, title: found.title, text: found.text },
    visit: {
      url: asked,
      page: url,
      links,
      ...(etag !== undefined && { etag }),
      ...(modified !== undefined && { modified }),
    },
  };
}
