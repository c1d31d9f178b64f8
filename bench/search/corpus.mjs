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

/** The words of a text that a larger corpus would have more of: runs of letters and digits. */
export const WORDS = /[\p{L}\p{N}]+/gu;
