/**
 * Pages out of Common Crawl, found by its URL index: a list of crawls (`collinfo.json`), for each a
 * server that speaks the CDX protocol (pywb: github.com/webrecorder/pywb/wiki/CDX-Server-API), and
 * archives of which a record is had by its offset and length, each a gzip member of its own
 * (commoncrawl.org/get-started).
 */
import { gunzipSync } from 'node:zlib';
import type { Fetcher, FetchLimits } from '../crawl/fetch.js';
import { type Answer, ask } from '../crawl/visit.js';
import { type AddressPattern, matchesPattern, parsePattern } from '../blocked/pattern.js';
import type { ExtractPool } from '../html/pool.js';
import type { Page } from '../page.js';
import { pageOfFrame } from '../warc/archive.js';
import { framesOf, RECORD_BYTES_MAX } from '../warc/frames.js';
import { canonicalUrl } from '../url.js';
import { queryOf } from './captures-query.js';
import type { ListedAddress } from './address.js';
import type { Sources, SourceOf } from './sources.js';

type CrawlSource = SourceOf<'common-crawl'>;
type Places = Sources['commonCrawl'];

/** Pieces of one answer of the index that are asked for at the most, of 15,000 captures or so. */
const PIECES_MAX = 2_000;
const INDEX_BYTES_MAX = 50 * 1024 * 1024;
const LINES_MAX = 100_000;

/** Where to begin: with the crawl that the source names, or with the list of all. */
export function crawlSeeds(source: CrawlSource, places: Places): ListedAddress[] {
  if (source.crawl !== undefined) return countQueries(source.crawl, source, places);
  const url = new URL('collinfo.json', places.index).href;
  // The source's patterns make it an address of this source alone.
  return [{ url: `${url}#${encodeURIComponent(source.name)}`, kind: 'crawls', ...UNDATED }];
}

const UNDATED = { changedSeconds: undefined } as const;

/** For each pattern: how many pieces has the answer? */
function countQueries(crawl: string, source: CrawlSource, { index }: Places): ListedAddress[] {
  return source.patterns.flatMap((text) => {
    const wanted = queryOf(text);
    if (wanted === undefined) return [];
    const url = new URL(`${crawl}-index`, index);
    url.search = new URLSearchParams({
      url: wanted,
      output: 'json',
      showNumPages: 'true',
    }).toString();
    return [{ url: url.href, kind: 'captures', ...UNDATED }];
  });
}

/** What a list of crawls or a piece of the index leads to; undefined where it is none. */
export function readIndex(
  kind: 'crawls' | 'captures',
  asked: string,
  text: string,
  source: CrawlSource,
  places: Places,
): ListedAddress[] | undefined {
  if (kind === 'crawls') {
    const newest = objectsIn(parseJson(text))[0]?.id;
    const isName = typeof newest === 'string' && /^[\w-]{1,60}$/u.test(newest);
    return isName ? countQueries(newest, source, places) : undefined;
  }
  const url = new URL(asked);
  if (url.searchParams.has('showNumPages')) {
    const pages = Number(objectsIn([parseJson(text)])[0]?.pages);
    if (!Number.isInteger(pages) || pages < 0) return undefined;
    url.searchParams.delete('showNumPages');
    return Array.from({ length: Math.min(pages, PIECES_MAX) }, (_, page) => {
      url.searchParams.set('page', String(page));
      return { url: url.href, kind: 'captures', ...UNDATED };
    });
  }
  return recordsOf(text, source, places);
}

function recordsOf(text: string, { patterns }: CrawlSource, { data }: Places): ListedAddress[] {
  const wanted = patterns.flatMap((name) => parsePattern(name) ?? []);
  // Of several captures of a page the index lists the newest last.
  const newest = new Map<string, string>();
  for (const line of text.split('\n', LINES_MAX)) {
    const [capture] = objectsIn([parseJson(line)]);
    const found = capture && recordOf(capture, wanted, data);
    if (found) newest.set(found.page, found.url);
  }
  return [...newest.values()].map((url) => ({ url, kind: 'record', ...UNDATED }));
}

function recordOf(
  capture: Readonly<Record<string, unknown>>,
  wanted: readonly AddressPattern[],
  data: string,
): { readonly page: string; readonly url: string } | undefined {
  const { url, status, filename, languages } = capture;
  const mime = capture['mime-detected'] ?? capture.mime;
  const [offset, length] = [Number(capture.offset), Number(capture.length)];
  const page = typeof url === 'string' ? canonicalUrl(url) : undefined;
  const isPage =
    String(status) === '200' &&
    (mime === 'text/html' || mime === 'application/xhtml+xml') &&
    (typeof languages !== 'string' || languages.split(',').includes('eng'));
  if (page === undefined || !isPage || typeof filename !== 'string') return undefined;
  if (!wanted.some((pattern) => matchesPattern(page, pattern))) return undefined;
  const isRange = Number.isInteger(offset) && offset >= 0 && length > 0;
  if (!isRange || length > RECORD_BYTES_MAX) return undefined;
  const place = canonicalUrl(filename, data);
  // A file of another host is not what the operator named.
  if (!place?.startsWith(data)) return undefined;
  return { page, url: `${place}#${offset}-${length}` };
}

/** Asks for a list of crawls or a piece of the index. */
export function askIndex(
  url: string,
  validators: Parameters<typeof ask>[1],
  fetcher: Fetcher,
  limits: FetchLimits,
): Promise<Answer> {
  return ask(url.replace(/#.*$/u, ''), validators, fetcher, {
    ...limits,
    bytesMax: INDEX_BYTES_MAX,
  });
}

/** Fetches one record by its range, and reads the page in it; or says why there is none. */
export async function fetchRecord(
  address: string,
  fetcher: Fetcher,
  pool: ExtractPool,
  limits: FetchLimits,
): Promise<Page | string | Exclude<Answer, { kind: 'content' }>> {
  const [, url = '', from = '', size = ''] = /^(.*)#(\d+)-(\d+)$/u.exec(address) ?? [];
  const [offset, length] = [Number(from), Number(size)];
  const answer = await ask(
    url,
    {},
    fetcher,
    { ...limits, bytesMax: length },
    {
      range: `bytes=${offset}-${offset + length - 1}`,
      'accept-encoding': 'identity',
    },
  );
  if (answer.kind !== 'content') return answer;
  let bytes: Buffer;
  try {
    bytes = gunzipSync(answer.got.body, { maxOutputLength: 2 * RECORD_BYTES_MAX });
  } catch {
    return 'damaged_gzip';
  }
  for await (const frame of framesOf(inTurn(bytes))) {
    return (await pageOfFrame(frame, pool)) ?? 'damaged_record';
  }
  return 'damaged_record';
}

// eslint-disable-next-line @typescript-eslint/require-await -- a stream of one piece
async function* inTurn(bytes: Buffer): AsyncIterable<Buffer> {
  yield bytes;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function objectsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  return list.filter(
    (one): one is Readonly<Record<string, unknown>> => typeof one === 'object' && one !== null,
  );
}
