/** One sentence, heading or list item of a page: a range of its text without outer white space. */
export interface Sentence {
  readonly start: number;
  readonly end: number;
  /** Whether a blank line stands before it. */
  readonly paragraph: boolean;
}

/** A sentence longer than this is cut at a space: minified code and tables have none to offer. */
const SENTENCE_LENGTH_MAX = 600;

/** End of sentence: a full stop and its closers before a space, or the end of a line's paragraph. */
const BOUNDARY =
  /[.!?…]["')\]”’]*(?=\s+["'([“‘]?[\p{Lu}\p{N}])|\n\s*\n|\n(?=\s*(?:[-*•–]|\d+[.)])\s)/gu;
const ABBREVIATION = /\b(?:e\.g|i\.e|etc|vs|cf|no|fig|mr|mrs|dr|st|approx|incl|[A-Z])\.$/i;

/** Cuts a page's text into sentences, in order. */
export function sentences(text: string): Sentence[] {
  const found: Sentence[] = [];
  let start = 0;
  let paragraph = true;
  for (const match of text.matchAll(BOUNDARY)) {
    const isBreak = match[0].startsWith('\n');
    const end = isBreak ? match.index : match.index + match[0].length;
    if (!isBreak && ABBREVIATION.test(text.slice(Math.max(0, end - 8), end))) continue;
    push(found, text, start, end, paragraph);
    paragraph = isBreak && match[0].length > 1;
    start = match.index + match[0].length;
  }
  push(found, text, start, text.length, paragraph);
  return found;
}

function push(out: Sentence[], text: string, from: number, to: number, paragraph: boolean): void {
  let [start, end] = [from, to];
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  let first = paragraph;
  while (end - start > SENTENCE_LENGTH_MAX) {
    const cut = cutAt(text, start, start + SENTENCE_LENGTH_MAX);
    out.push({ start, end: cut, paragraph: first });
    first = false;
    start = cut;
    while (start < end && isSpace(text.charCodeAt(start))) start++;
  }
  if (end > start) out.push({ start, end, paragraph: first });
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 0xa0;
}

/**
 * The last place in (start, limit] where text may be cut: at a space if there is one in the second
 * half, else between two characters, never inside one (surrogate pairs, combining marks, joiners).
 */
export function cutAt(text: string, start: number, limit: number): number {
  if (limit >= text.length) return text.length;
  for (let at = limit; at > start + (limit - start) / 2; at--) {
    if (isSpace(text.charCodeAt(at))) return at;
  }
  let at = limit;
  while (at > start + 1 && !isCharacterStart(text, at)) at--;
  return at > start + 1 || isCharacterStart(text, at) ? at : limit;
}

const EXTENDS = /^[\p{M}\p{Emoji_Modifier}\u200d\ufe0f]/u;

function isCharacterStart(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code >= 0xdc00 && code <= 0xdfff) return false;
  if (text.charCodeAt(at - 1) === 0x200d) return false;
  return !EXTENDS.test(text.slice(at, at + 2));
}
