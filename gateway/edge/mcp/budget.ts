import type { SearchResponse, SearchResultItem } from '../../../search-core/contract.js';

/**
 * Characters of all passages in one tool result together. A result carries them twice, as text and
 * as structured content, and some clients show a model both: 32,000 twice, with titles, addresses
 * and the escapes of JSON, stay below 25,000 tokens at three characters a token, the limit of a
 * common client. A default search (10 passages of at most 3,000) fits whole.
 */
export const PASSAGE_CHARS_MAX = 32_000;

/** A search's answer that fits a client's context. */
export interface Fitted {
  readonly response: SearchResponse;
  /** The length to which longer passages were cut; undefined when none was. */
  readonly cutTo: number | undefined;
  /** Pages that did not fit. */
  readonly leftOut: number;
}

/** Cuts the longest passages, all to one length, until all of them together fit into `charsMax`. */
export function fitPassages(response: SearchResponse, charsMax = PASSAGE_CHARS_MAX): Fitted {
  const { results } = response.result;
  const cutTo = fairLength(
    results.map(({ description }) => description.length),
    charsMax,
  );
  if (cutTo === undefined) return { response, cutTo, leftOut: 0 };
  const shortened = results.map((item) => ({
    ...item,
    description: shorten(item.description, cutTo),
  }));
  const result = { ...response.result, results: shortened };
  return { response: { ...response, result }, cutTo, leftOut: 0 };
}

/** A passage that is cut to fewer characters than this says too little, and is left out. */
const PASSAGE_CHARS_MIN = 200;

/**
 * Spends `charsMax` characters, titles and addresses included, on the best pages: each whole, in
 * ranked order, while they fit. The one that does not fit is cut, and those behind it are left out.
 */
export function spendOnBest(response: SearchResponse, charsMax: number): Fitted {
  const results: SearchResultItem[] = [];
  let left = charsMax;
  let cutTo: number | undefined;
  for (const item of response.result.results) {
    const room = left - item.title.length - item.url.length;
    const isWhole = item.description.length <= room;
    if (!isWhole && room < PASSAGE_CHARS_MIN) break;
    results.push(isWhole ? item : { ...item, description: shorten(item.description, room) });
    if (!isWhole) {
      cutTo = room;
      break;
    }
    left = room - item.description.length;
  }
  const result = { ...response.result, results, totalResults: results.length };
  return {
    response: { ...response, result },
    cutTo,
    leftOut: response.result.results.length - results.length,
  };
}

/**
 * The greatest length at which the sum of all lengths, each cut to it, stays within `total`;
 * undefined when nothing needs cutting. What short passages leave over goes to the long ones.
 */
function fairLength(lengths: readonly number[], total: number): number | undefined {
  const sorted = lengths.toSorted((a, b) => a - b);
  let left = total;
  for (const [index, length] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index));
    if (length > share) return share;
    left -= length;
  }
  return undefined;
}

const ELLIPSIS = '…';

/** Cuts at the last space before `length`, unless that is far away, and never inside a character. */
function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const room = Math.max(0, length - ELLIPSIS.length);
  const space = text.lastIndexOf(' ', room);
  const end = space > room * 0.8 ? space : room;
  return (
    text
      .slice(0, end)
      .trimEnd()
      .toWellFormed()
      .replace(/\uFFFD$/u, '') + ELLIPSIS
  );
}
