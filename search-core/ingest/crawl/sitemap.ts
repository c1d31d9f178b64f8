/** Sitemaps (sitemaps.org protocol 0.9): XML lists of pages, lists of lists, and plain text. */
import { decodeXML } from 'entities';

/** A page that a list names. */
export interface Listed {
  /** As it is written; in a feed maybe relative. */
  readonly url: string;
  /** Seconds since 1970 when the page changed last, where the list says so. */
  readonly changedSeconds: number | undefined;
}

export interface Sitemap {
  readonly kind: 'pages' | 'sitemaps';
  readonly listed: readonly Listed[];
}

/** The protocol allows 50,000 addresses in one file. */
const URLS_MAX = 50_000;
const ENTRY_START = /<(?:\w+:)?(?:url|sitemap)\s*>/giu;
const ENTRY_LENGTH_MAX = 100_000;

/** The addresses that a sitemap lists; of anything else none. */
export function parseSitemap(text: string): Sitemap {
  const isXml = text.trimStart().startsWith('<');
  if (!isXml) {
    const urls = text.split(/\s+/u).filter((line) => /^https?:\/\//iu.test(line));
    const listed = urls.slice(0, URLS_MAX).map((url) => ({ url, changedSeconds: undefined }));
    return { kind: 'pages', listed };
  }
  const listed: Listed[] = [];
  const starts = [...text.matchAll(ENTRY_START)].map(({ index }) => index);
  for (const [at, start] of starts.entries()) {
    if (listed.length >= URLS_MAX) break;
    const entry = text.slice(start, Math.min(starts[at + 1] ?? Infinity, start + ENTRY_LENGTH_MAX));
    const location = /<(?:\w+:)?loc\s*>\s*([^<]{1,4096}|<!\[CDATA\[[^\]]{1,4096})/iu.exec(entry);
    if (!location) continue;
    const date = /<(?:\w+:)?lastmod\s*>([^<]{1,100})/iu.exec(entry)?.[1];
    const changedSeconds = date === undefined ? undefined : secondsOf(date);
    listed.push({ url: plain(location[1] ?? ''), changedSeconds });
  }
  return { kind: /<(?:\w+:)?sitemapindex[\s>]/iu.test(text) ? 'sitemaps' : 'pages', listed };
}

/** The text of an XML element, which may stand in a CDATA section. */
export function plain(text: string): string {
  return decodeXML(text.replace(/^\s*<!\[CDATA\[|\]\]>.*$/gsu, '')).trim();
}

/** Seconds since 1970 of a date as RFC 3339, W3C or RFC 2822 write it. */
export function secondsOf(date: string): number | undefined {
  const ms = Date.parse(date.trim());
  return Number.isFinite(ms) ? Math.floor(ms / 1_000) : undefined;
}
