/** What a web page says: title, main text, canonical address, links, and what robots may do. */
import { PAGE_LIMITS } from '../page.js';
import { cleanLine, cut } from '../text.js';
import { canonicalUrl } from '../url.js';
import { withoutDepth } from './depth.js';
import { mainContent, type PageDocument, parseDocument } from './dom.js';
import { removeHidden } from './hidden.js';
import { textOf } from './text.js';

export interface ExtractedPage {
  readonly title: string;
  readonly text: string;
  /** The page's own canonical link, where it names one on the same site. */
  readonly canonical: string | undefined;
  /** `<meta name="robots" content="noindex">`. */
  readonly isNoIndex: boolean;
  /** `<meta name="robots" content="nofollow">`. */
  readonly isNoFollow: boolean;
  /** Canonical addresses that the page links to, each once, in order. */
  readonly links: readonly string[];
}

const LINKS_MAX = 2_000;
/** Longer pages are read without Defuddle, whose time grows faster than they do. */
const DEFUDDLE_LENGTH_MAX = 500_000;
/** Also pages of more tags than that: its time grows with the square of the siblings. */
const DEFUDDLE_TAGS_MAX = 20_000;

/**
 * Reads one page. Main text by Defuddle: of the two kept libraries it leaves no navigation in
 * (docs/decisions/main-text.md). Not bounded in time: call it where it can be stopped.
 * @throws whatever the parsers throw on hostile input
 */
export function extractPage(html: string, url: string): ExtractedPage {
  const document = parseDocument(withoutDepth(withoutStyles(html)));
  const base = canonicalUrl(document.querySelector('base[href]')?.getAttribute('href') ?? '', url);
  const robots = [...document.querySelectorAll('meta[name="robots" i]')]
    .map((meta) => meta.getAttribute('content')?.toLowerCase() ?? '')
    .join(',');
  // Read before Defuddle takes the document apart.
  const links = linksOf(document, base ?? url);
  const canonical = canonicalLink(document, url);
  removeHidden(document);
  const { title, text } =
    html.length > DEFUDDLE_LENGTH_MAX || hasManyElements(html)
      ? plainMain(document)
      : main(document, url);
  return {
    title: cut(title, PAGE_LIMITS.title),
    text: cut(text, PAGE_LIMITS.text),
    canonical,
    isNoIndex: /\b(?:noindex|none)\b/u.test(robots),
    isNoFollow: /\b(?:nofollow|none)\b/u.test(robots),
    links,
  };
}

function main(document: PageDocument, url: string): MainText {
  const heading = document.querySelector('h1')?.textContent ?? '';
  const found = mainContent(document, url);
  const { body } = parseDocument(`<html><body>${found.content}</body></html>`);
  return { title: cleanLine(found.title) || cleanLine(heading), text: textOf(body) };
}

/** The element that the page itself calls its main one, without navigation. */
function plainMain(document: PageDocument): MainText {
  const element = document.querySelector('main, [role="main"], article') ?? document.body;
  return { title: cleanLine(document.title), text: textOf(element) };
}

function hasManyElements(html: string): boolean {
  let count = 0;
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) {
    count += 1;
    if (count > DEFUDDLE_TAGS_MAX) return true;
  }
  return false;
}

interface MainText {
  readonly title: string;
  readonly text: string;
}

const STYLE_START = /<style\b/giu;
const STYLE_END = /<\/style\s*>/giu;

/**
 * Style sheets say nothing about the words, and parsing them takes most of the time. In one pass:
 * one expression for both ends looks through the whole rest of a page for each that does not end.
 */
function withoutStyles(html: string): string {
  const kept: string[] = [];
  let from = 0;
  for (;;) {
    STYLE_START.lastIndex = from;
    const start = STYLE_START.exec(html)?.index;
    if (start === undefined) break;
    STYLE_END.lastIndex = start;
    if (!STYLE_END.test(html)) break;
    kept.push(html.slice(from, start));
    from = STYLE_END.lastIndex;
  }
  return from === 0 ? html : kept.join('') + html.slice(from);
}

function linksOf(document: PageDocument, base: string): string[] {
  const links = new Set<string>();
  for (const anchor of document.querySelectorAll('a[href], area[href]')) {
    if (links.size >= LINKS_MAX) break;
    if (/\bnofollow\b/iu.test(anchor.getAttribute('rel') ?? '')) continue;
    const link = canonicalUrl(anchor.getAttribute('href')?.trim() ?? '', base);
    if (link !== undefined) links.add(link);
  }
  return [...links];
}

/** RFC 6596; a canonical link to another site is not believed: anyone could claim anything. */
function canonicalLink(document: PageDocument, url: string): string | undefined {
  const href = document.querySelector('link[rel="canonical" i][href]')?.getAttribute('href');
  const link = canonicalUrl(href?.trim() ?? '', url);
  return link !== undefined && new URL(link).host === new URL(url).host ? link : undefined;
}
