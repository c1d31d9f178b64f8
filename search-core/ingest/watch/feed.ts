/** Feeds: RSS 2.0, RSS 1.0 (RDF) and Atom (RFC 4287). Only where pages are, and when they changed. */
import { decodeXML } from 'entities';
import { type Listed, plain, secondsOf } from '../crawl/sitemap.js';

const ITEMS_MAX = 5_000;
const ITEM_START = /<(?:\w+:)?(?:item|entry)[\s>]/giu;
const ITEM_LENGTH_MAX = 1_000_000;

/** The pages that a feed names; of anything else none. In time of the text's length. */
export function parseFeed(text: string): Listed[] {
  const starts: number[] = [];
  for (const found of text.matchAll(ITEM_START)) {
    starts.push(found.index);
    if (starts.length > ITEMS_MAX) break;
  }
  return starts.slice(0, ITEMS_MAX).flatMap((start, at) => {
    const end = Math.min(starts[at + 1] ?? text.length, start + ITEM_LENGTH_MAX);
    const item = text.slice(start, end);
    const url = linkOf(item);
    if (url === undefined) return [];
    const date = elementOf(item, DATES);
    return [{ url, changedSeconds: date === undefined ? undefined : secondsOf(date) }];
  });
}

const LINK_ELEMENT = [/<link\s*>([^<]{1,4096}|<!\[CDATA\[.{1,4096}?\]\]>)/iu];
/** RSS 2.0: an address unless it says that it is none. */
const GUID = [/<guid(?:\s+isPermaLink\s*=\s*["']true["'])?\s*>([^<]{1,4096})/iu];
const DATES = [
  /<(?:\w+:)?updated\s*>([^<]{1,100})/iu,
  /<(?:\w+:)?modified\s*>([^<]{1,100})/iu,
  /<pubDate\s*>([^<]{1,100})/iu,
  /<(?:\w+:)?published\s*>([^<]{1,100})/iu,
  /<dc:date\s*>([^<]{1,100})/iu,
];

function linkOf(item: string): string | undefined {
  for (const [tag] of item.matchAll(/<(?:\w+:)?link\s[^<>]{1,4096}>/giu)) {
    const rel = attributeOf(tag, 'rel') ?? 'alternate';
    const href = attributeOf(tag, 'href');
    if (rel === 'alternate' && href !== undefined) return decodeXML(href).trim();
  }
  const written = elementOf(item, LINK_ELEMENT) ?? elementOf(item, GUID);
  return written !== undefined && /^(?:https?:)?\/{1,2}/iu.test(written) ? written : undefined;
}

function attributeOf(tag: string, name: string): string | undefined {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, 'iu').exec(tag);
  return found?.[1] ?? found?.[2];
}

function elementOf(item: string, expressions: readonly RegExp[]): string | undefined {
  for (const expression of expressions) {
    const found = expression.exec(item)?.[1];
    if (found !== undefined) return plain(found);
  }
  return undefined;
}
