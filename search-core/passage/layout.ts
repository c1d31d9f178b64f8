import { sentenceEnd, sentenceStart, skipSpace } from './boundaries.js';

/** A range of a text, in UTF-16 code units, without white space at its ends. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** A heading is no longer than this. */
const HEADING_LENGTH_MAX = 100;
/** So many headings in a row lead to what follows them: a chapter's, a section's. */
const HEADINGS_MAX = 3;
/** What numbers a paragraph on a line of its own: `(a)`, `12.`. */
const LABEL = /^\(?[\p{L}\p{N}.-]{1,6}[.)]?$/u;
/** A longer paragraph is taken sentence by sentence. */
const PARAGRAPH_LENGTH_MAX = 500;

const MENU_LINES_MIN = 4;
const MENU_LINE_LENGTH_MAX = 30;
/** What stands in code, tables and lists of facts, and not in a row of links. */
const NOT_IN_MENUS = /[\d=;{}()<>$|:]/;

/**
 * The paragraphs of a clean text (see `cleanText`): what a blank line separates. A list, a table or
 * a piece of code without a blank line in it is one of them.
 */
export class Layout {
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];

  constructor(readonly text: string) {
    for (let start = 0; start < text.length;) {
      const blank = text.indexOf('\n\n', start);
      const end = blank < 0 ? text.length : blank;
      this.starts.push(start);
      this.ends.push(end);
      start = end + 2;
    }
  }

  /** The number of the paragraph that `at` is in, or that ends before the white space at `at`. */
  paragraphAt(at: number): number {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.starts[middle] ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  paragraph(number: number): Range {
    return { start: this.starts[number] ?? 0, end: this.ends[number] ?? this.text.length };
  }

  /**
   * Whether a paragraph leads to the next one and says little without it: a heading, a label, or what
   * ends in a colon.
   */
  leadsOn(number: number): boolean {
    if (number >= this.starts.length - 1) return false;
    const { start, end } = this.paragraph(number);
    const last = this.text.charAt(end - 1);
    if (last === ':') return true;
    if (end - start > HEADING_LENGTH_MAX) return false;
    return !'.!?;…)}|'.includes(last) || LABEL.test(this.text.slice(start, end));
  }

  /** The first of the headings right above a paragraph, or the paragraph itself. */
  firstHeadingOf(number: number): number {
    let first = number;
    while (first > 0 && number - first < HEADINGS_MAX && this.leadsOn(first - 1)) first--;
    return first;
  }

  /** The paragraph that the headings from `number` on lead to. */
  ledTo(number: number): number {
    let last = number;
    while (last - number < HEADINGS_MAX && this.leadsOn(last)) last++;
    return last;
  }

  /**
   * What comes next behind a range that ends at `end`: the rest of a paragraph where it is within
   * `most`, else a sentence of it; a heading only together with something below it. Nothing where a
   * menu comes, or `limit`.
   */
  after(end: number, limit: number, most: number): Range | undefined {
    const start = skipSpace(this.text, end);
    if (start >= limit) return undefined;
    const number = this.ledTo(this.paragraphAt(start));
    const paragraph = this.paragraph(number);
    const from = Math.max(start, paragraph.start);
    const isShort = paragraph.end - start <= Math.min(most, PARAGRAPH_LENGTH_MAX);
    const last = Math.min(isShort ? paragraph.end : sentenceEnd(this.text, from), limit);
    return last <= start || isMenu(this.text, from, last) ? undefined : { start, end: last };
  }

  /** What comes right before a range that starts at `start`; nothing before `limit`. */
  before(start: number, limit: number): Range | undefined {
    const first = skipSpace(this.text, limit);
    if (start === 0 || first >= start) return undefined;
    const paragraph = this.paragraph(this.paragraphAt(start - 1));
    const from = Math.max(first, paragraph.start);
    if (from >= start) return undefined;
    const isShort = start - from <= PARAGRAPH_LENGTH_MAX;
    const own = isShort ? from : sentenceStart(this.text, start - 1, from);
    if (own >= start || isMenu(this.text, own, start)) return undefined;
    return { start: own, end: start };
  }
}

/** Whether a range is a row of short lines of words alone: a menu, not something to read. */
export function isMenu(text: string, start: number, end: number): boolean {
  let lines = 1;
  for (let at = text.indexOf('\n', start); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) {
    lines++;
  }
  if (lines < MENU_LINES_MIN || end - start >= lines * MENU_LINE_LENGTH_MAX) return false;
  return !'.!?'.includes(text.charAt(end - 1)) && !NOT_IN_MENUS.test(text.slice(start, end));
}
