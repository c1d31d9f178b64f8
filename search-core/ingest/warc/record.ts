/** What a WARC record holds for the index: a fetched web page, or text that was taken out of one. */
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { AsyncIterReader, WARCParser, type WARCRecord } from 'warcio';
import { decodePage } from '../charset.js';
import { cleanText } from '../text.js';
import { canonicalUrl } from '../url.js';
import { RECORD_BYTES_MAX } from './frames.js';

/** A page that still has to be read out of its HTML. */
export interface HtmlSource {
  readonly kind: 'html';
  readonly url: string;
  readonly html: string;
  readonly isNoIndex: boolean;
}

/** A page whose text somebody took out already (WET). */
export interface TextSource {
  readonly kind: 'text';
  readonly url: string;
  readonly text: string;
}

/** Why a record that should hold a page does not. */
export type RecordFault =
  'damaged_record' | 'invalid_url' | 'http_status' | 'not_html' | 'damaged_content';

/**
 * Reads one whole record. Undefined for records that never hold a page: requests, metadata,
 * robots files, DNS.
 */
export async function readRecord(
  bytes: Buffer,
): Promise<HtmlSource | TextSource | RecordFault | undefined> {
  let record: WARCRecord | null;
  try {
    record = await WARCParser.parse([bytes]);
    if (!record) return 'damaged_record';
    if (record.warcType === 'response') return await htmlSource(record);
    return record.warcType === 'conversion' ? await textSource(record) : undefined;
  } catch {
    return 'damaged_record';
  }
}

async function textSource(record: WARCRecord): Promise<TextSource | RecordFault> {
  const url = canonicalUrl(record.warcTargetURI ?? '');
  if (url === undefined) return 'invalid_url';
  return { kind: 'text', url, text: withoutMenus(cleanText(await record.contentText())) };
}

/** A run of so many short lines is a menu. */
const MENU_LINES_MIN = 6;
const MENU_WORDS_MAX = 4;

/** WET text still holds navigation: runs of short lines that do not end as sentences do. */
function withoutMenus(text: string): string {
  const isShort = (line: string): boolean =>
    line.split(' ').length <= MENU_WORDS_MAX && !/[.!?:;]$/u.test(line);
  const [title = '', ...lines] = text.split('\n');
  const kept: string[] = [title];
  let run: string[] = [];
  for (const line of [...lines, 'The end.']) {
    if (isShort(line)) {
      run.push(line);
      continue;
    }
    if (run.length < MENU_LINES_MIN) kept.push(...run);
    run = [];
    kept.push(line);
  }
  return kept.slice(0, -1).join('\n');
}

async function htmlSource(record: WARCRecord): Promise<HtmlSource | RecordFault | undefined> {
  const target = record.warcTargetURI ?? '';
  if (!/^https?:/iu.test(target)) return undefined;
  const url = canonicalUrl(target);
  if (url === undefined) return 'invalid_url';
  if (new URL(url).pathname === '/robots.txt') return undefined;
  const http = record.httpHeaders;
  if (http?.statusCode !== 200) return 'http_status';
  const type = http.headers.get('content-type') ?? '';
  if (type !== '' && !/^\s*(?:text\/html|application\/xhtml\+xml)\b/iu.test(type))
    return 'not_html';
  const payload = await payloadOf(record, http.headers.get('transfer-encoding') ?? '');
  const content = decompressed(payload, http.headers.get('content-encoding') ?? '');
  if (content === undefined) return 'damaged_content';
  const robots = http.headers.get('x-robots-tag') ?? '';
  const isNoIndex = /\b(?:noindex|none)\b/iu.test(robots);
  return { kind: 'html', url, html: decodePage(content, type), isNoIndex };
}

/** The message's bytes without their transfer coding; the content coding stays, see below. */
async function payloadOf(record: WARCRecord, transferEncoding: string): Promise<Uint8Array> {
  const isChunked = /\bchunked\b/iu.test(transferEncoding);
  return new AsyncIterReader(
    record.reader as AsyncIterable<Uint8Array>,
    null,
    isChunked,
  ).readFully();
}

/**
 * The content without its `Content-Encoding`. Archives often keep the header of content that they
 * have already decoded, so bytes that do not look compressed are taken as they are.
 */
function decompressed(bytes: Uint8Array, encoding: string): Uint8Array | undefined {
  const limits = { maxOutputLength: RECORD_BYTES_MAX };
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  try {
    if (isGzip) return gunzipSync(bytes, limits);
    if (/\bbr\b/iu.test(encoding) && !looksLikeText(bytes))
      return brotliDecompressSync(bytes, limits);
    if (/\bdeflate\b/iu.test(encoding) && !looksLikeText(bytes)) return inflateSync(bytes, limits);
    return bytes;
  } catch {
    return undefined;
  }
}

function looksLikeText(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 512).every((byte) => byte >= 0x09);
}
