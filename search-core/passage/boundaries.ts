/**
 * Where sentences of a page's text end. The text is clean (see `cleanText`): no white space but
 * single spaces, `\n` for a line and `\n\n` for a paragraph.
 */

/** A sentence longer than this is cut at a space. */
const SENTENCE_LENGTH_MAX = 800;
/** One that has lines is cut at the end of one: code and tables have no full stops to offer. */
const LINES_LENGTH_MAX = 400;

const [NEWLINE, SPACE] = [0x0a, 0x20];
const TERMINATORS = codesOf('.!?…');
const CLOSERS = codesOf('"\')]”’»');
const OPENERS = codesOf('"\'([“‘«');
const BULLETS = codesOf('-*•–');
/** Single letters as in "D.C." among them; taking one for no end joins two sentences, no more. */
const ABBREVIATIONS =
  /(?:^|[\s(.§])(?:etc|vs|cf|nos?|figs?|mrs?|ms|dr|st|approx|incl|stat|secs?|vol|ch|art|pp|eds?|inc|ltd|corp|jr|sr|rev|resp|[a-z])\.$/i;

function codesOf(characters: string): ReadonlySet<number> {
  return new Set(Array.from(characters, (character) => character.charCodeAt(0)));
}

/** Whether a sentence ends before the white space at `at`. */
function endsAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code !== SPACE && code !== NEWLINE) return false;
  const next = text.charCodeAt(at + 1);
  if (code === NEWLINE && (next === NEWLINE || isItem(text, at + 1))) return true;
  let last = at - 1;
  const before = text.charCodeAt(last);
  if (before >= 0x30 && before <= 0x7a && before !== 0x3f && before !== 0x5d) return false;
  while (last > 0 && CLOSERS.has(text.charCodeAt(last))) last--;
  const terminator = text.charCodeAt(last);
  if (!TERMINATORS.has(terminator)) return false;
  const starts = OPENERS.has(next) ? text.charCodeAt(at + 2) : next;
  if (starts >= 0x61 && starts <= 0x7a) return false;
  return terminator !== 0x2e || !ABBREVIATIONS.test(text.slice(Math.max(0, last - 7), last + 1));
}

/** Whether a list item starts at `at`: a bullet or a number with its space. */
function isItem(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (BULLETS.has(code)) return text.charCodeAt(at + 1) === SPACE;
  let end = at;
  while (end < at + 3 && text.charCodeAt(end) >= 0x30 && text.charCodeAt(end) <= 0x39) end++;
  const closer = text.charCodeAt(end);
  return end > at && (closer === 0x2e || closer === 0x29) && text.charCodeAt(end + 1) === SPACE;
}

/** The end of the sentence that starts at `start`, without white space. */
export function sentenceEnd(text: string, start: number): number {
  const limit = Math.min(text.length, start + SENTENCE_LENGTH_MAX);
  let line = 0;
  for (let at = start + 1; at < limit; at++) {
    const code = text.charCodeAt(at);
    if (code > SPACE) continue;
    if (at - start > LINES_LENGTH_MAX && line > 0) return line;
    if (code === NEWLINE && at - start <= LINES_LENGTH_MAX) line = at;
    if (endsAt(text, at)) return at;
  }
  if (limit === text.length) return limit;
  return line > 0 ? line : cutAt(text, start, limit);
}

/** The start of the sentence that `at` is in, at `from` at the earliest. */
export function sentenceStart(text: string, at: number, from: number): number {
  const limit = Math.max(from, at - SENTENCE_LENGTH_MAX);
  let line = 0;
  for (let start = at; start > limit; start--) {
    const code = text.charCodeAt(start - 1);
    if (code > SPACE) continue;
    if (at - start > LINES_LENGTH_MAX && line > 0) return line;
    if (endsAt(text, start - 1)) return skipSpace(text, start);
    if (code === NEWLINE) line = start;
  }
  if (limit === from) return skipSpace(text, from);
  const space = text.indexOf(' ', limit);
  return line > 0 ? line : space >= 0 && space < at ? space + 1 : characterStart(text, limit);
}

export function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

function isSpace(code: number): boolean {
  return code === SPACE || code === NEWLINE;
}

/**
 * The last place in (start, limit] where text may be cut: at a space if there is one in the second
 * half, else between two characters, never inside one.
 */
export function cutAt(text: string, start: number, limit: number): number {
  if (limit >= text.length) return text.length;
  for (let at = limit; at > start + (limit - start) / 2; at--) {
    if (isSpace(text.charCodeAt(at))) return at;
  }
  const cut = characterStart(text, limit);
  return cut > start ? cut : limit;
}

const EXTENDS = /^[\p{M}\p{Emoji_Modifier}\u200d\ufe0f]/u;
/** A base letter with more marks than this is no text. */
const MARKS_MAX = 32;

/** `at`, or the start of the character that it is inside of: surrogates, marks, joined emoji. */
function characterStart(text: string, at: number): number {
  let start = at;
  while (start > 0 && at - start < MARKS_MAX && isInside(text, start)) start--;
  return start;
}

function isInside(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 0x300) return false;
  if (code >= 0xdc00 && code <= 0xdfff) return true;
  return text.charCodeAt(at - 1) === 0x200d || EXTENDS.test(text.slice(at, at + 2));
}
