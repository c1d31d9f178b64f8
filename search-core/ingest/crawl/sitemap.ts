/** Sitemaps (sitemaps.org protocol 0.9): XML lists of pages, lists of lists, and plain text. */
import { decodeXML } from 'entities';

export interface Sitemap {
  readonly kind: 'pages' | 'sitemaps';
  readonly urls: readonly string[];
}

/** The protocol allows 50,000 addresses in one file. */
const URLS_MAX = 50_000;

/** The addresses that a sitemap lists; of anything else none. */
export function parseSitemap(text: string): Sitemap {
  const isXml = text.trimStart().startsWith('<');
  if (!isXml) {
    const urls = text.split(/\s+/u).filter((line) => /^https?:\/\//iu.test(line));
    return { kind: 'pages', urls: urls.slice(0, URLS_MAX) };
  }
  const urls: string[] = [];
  for (const [, location = ''] of text.matchAll(/<(?:\w+:)?loc\s*>\s*([^<]{1,4096})/giu)) {
    if (urls.length >= URLS_MAX) break;
    const plain = location.replace(/^<!\[CDATA\[|\]\]>.*$/gsu, '');
    urls.push(decodeXML(plain).trim());
  }
  return { kind: /<(?:\w+:)?sitemapindex[\s>]/iu.test(text) ? 'sitemaps' : 'pages', urls };
}
