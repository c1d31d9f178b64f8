// The pages and queries that the search benchmarks run on.
import { createReadStream, readFileSync } from 'node:fs';
import { createGunzip } from 'node:zlib';

/**
 * Pages of a .jsonl or .jsonl.gz file: one JSON object with url, title, text a line. Cut at `\n`
 * alone: readline also cuts at U+2028, which JSON strings may hold.
 */
export async function* pagesOf(file) {
  const raw = createReadStream(file);
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of file.endsWith('.gz') ? raw.pipe(createGunzip()) : raw) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield JSON.parse(line);
  }
  if (rest !== '') yield JSON.parse(rest);
}

/** Numbers in [0, 1) from a seed (mulberry32), so that every run makes the same corpus. */
function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * The pages of a file, then made ones until there are `count`. A made page has the title of one
 * page, the length of another, and paragraphs drawn from all: words stay as frequent as they are,
 * sentences are whole, no two pages are the same.
 */
export async function* grownTo(file, count) {
  const pages = [];
  for await (const page of pagesOf(file)) {
    if (pages.length < count) yield page;
    pages.push(page);
  }
  const paragraphs = pages.map(({ text }) => text.split(/\n\n+/));
  const random = seeded(402);
  const any = (list) => list[Math.floor(random() * list.length)];
  for (let n = pages.length; n < count; n++) {
    const length = any(pages).text.length;
    const parts = [];
    for (let size = 0; size < length;) {
      const part = any(any(paragraphs));
      parts.push(part);
      size += part.length + 2;
    }
    const text = parts.join('\n\n').slice(0, length + 500);
    yield { url: `https://made.example/${n}`, title: any(pages).title, text };
  }
}

/** Queries by class: { class: [{ q, target? }] }. */
export function queriesOf(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** The words of a query, cut plainly, for engines that have no query syntax in common. */
export function plainWords(query) {
  return query
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}
