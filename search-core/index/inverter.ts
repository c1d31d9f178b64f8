import { addressText } from '../analyze/address.js';
import { Tokens, tokenize } from '../analyze/tokenize.js';
import type { Directory } from '../disk/directory.js';
import type { Page } from '../page.js';
import { cleanText } from '../passage/clean.js';
import { splitText } from '../passage/parts.js';
import { ADDRESS_START, BODY_START } from '../rank/nearness.js';
import type { SegmentMeta } from './files.js';
import { TITLE_OCCURRENCES_MAX } from './postings/layout.js';
import { SegmentWriter, type TermSink } from './segment-writer.js';
import { sortedStrings } from './sort.js';
import { doubled, Vocabulary } from './vocabulary.js';

/** Marks a word that stands at the position of the word before it. */
const STACKED = 1 << 30;

/**
 * Turns pages into a segment. While pages come, their words are only numbered and appended to one
 * stream; at the end a counting sort brings each word's occurrences together (sort-based inversion:
 * Witten, Moffat and Bell, "Managing Gigabytes", section 5.2).
 */
export class Inverter {
  private readonly tokens = new Tokens();
  private readonly vocabulary = new Vocabulary();
  private stream = new Int32Array(1 << 16);
  private length = 0;
  /** Where each document's title, address and body end in the stream. */
  private readonly titleEnds: number[] = [];
  private readonly addressEnds: number[] = [];
  private readonly bodyEnds: number[] = [];
  private readonly writer: SegmentWriter;
  /** Positions of one word in one document. */
  private positions = new Int32Array(1 << 12);

  constructor(
    directory: Directory,
    readonly name: string,
  ) {
    this.writer = new SegmentWriter(directory, name);
  }

  get documents(): number {
    return this.writer.documents;
  }

  /** Words so far: memory is about 16 bytes for each, and 60 for each distinct one. */
  get words(): number {
    return this.length;
  }

  add(page: Page): void {
    const title = this.append(page.title, ADDRESS_START - 1);
    this.titleEnds.push(this.length);
    this.append(addressText(page.url), BODY_START - 1 - ADDRESS_START);
    this.addressEnds.push(this.length);
    const parts = splitText(cleanText(page.text)).map((text) => ({
      text,
      words: this.append(text, Infinity),
    }));
    this.bodyEnds.push(this.length);
    this.writer.addPage(page.url, page.title, parts, title);
  }

  /** Writes the segment. The inverter is used up. */
  finish(): SegmentMeta {
    return this.writer.finish((sink) => this.writeTerms(sink));
  }

  /** Appends a text's words; returns how many positions it has, at most `positionsMax`. */
  private append(text: string, positionsMax: number): number {
    const { tokens, vocabulary } = this;
    tokenize(text, tokens);
    const { count, positions } = tokens.within(positionsMax);
    while (this.length + count > this.stream.length) this.stream = doubled(this.stream);
    vocabulary.number(tokens, count, this.stream, this.length);
    for (let i = 0; positions < count && i < count; i++) {
      if (tokens.stacked[i] === 1)
        this.stream[this.length + i] = STACKED | (this.stream[this.length + i] ?? 0);
    }
    this.length += count;
    return positions;
  }

  private writeTerms(sink: TermSink): void {
    const { vocabulary } = this;
    const starts = this.countOccurrences();
    const occurrences = this.scatter(starts.slice());
    const order = sortedStrings(vocabulary.bytes, vocabulary.ends, vocabulary.count);
    for (const number of order) {
      sink.start();
      this.writePostings(sink, occurrences, starts[number] ?? 0, starts[number + 1] ?? 0);
      sink.end(vocabulary.bytes.subarray(vocabulary.start(number), vocabulary.ends[number]));
    }
  }

  /** Where each word's occurrences start once they are sorted by word. */
  private countOccurrences(): Int32Array {
    const starts = new Int32Array(this.vocabulary.count + 1);
    for (let i = 0; i < this.length; i++) {
      const next = ((this.stream[i] ?? 0) & ~STACKED) + 1;
      starts[next] = (starts[next] ?? 0) + 1;
    }
    for (let n = 1; n < starts.length; n++) starts[n] = (starts[n] ?? 0) + (starts[n - 1] ?? 0);
    return starts;
  }

  /**
   * Distributes document and position of every occurrence to its word's range: side by side, so that
   * an occurrence is one place in memory.
   */
  private scatter(next: Int32Array): Int32Array {
    const occurrences = new Int32Array(2 * this.length);
    const { stream } = this;
    let at = 0;
    const field = (document: number, end: number, first: number): void => {
      let position = first - 1;
      for (; at < end; at++) {
        const word = stream[at] ?? 0;
        if ((word & STACKED) === 0) position++;
        const number = word & ~STACKED;
        const target = next[number] ?? 0;
        next[number] = target + 1;
        occurrences[2 * target] = document;
        occurrences[2 * target + 1] = position;
      }
    };
    for (let document = 0; document < this.bodyEnds.length; document++) {
      field(document, this.titleEnds[document] ?? 0, 0);
      field(document, this.addressEnds[document] ?? 0, ADDRESS_START);
      field(document, this.bodyEnds[document] ?? 0, BODY_START);
    }
    return occurrences;
  }

  /** Gives the encoder a word's postings: its occurrences from `start` to `end`. */
  private writePostings(
    { encoder }: TermSink,
    occurrences: Int32Array,
    start: number,
    end: number,
  ): void {
    if (this.positions.length < end - start) this.positions = new Int32Array(2 * (end - start));
    const { positions } = this;
    for (let at = start; at < end;) {
      const document = occurrences[2 * at] ?? 0;
      let count = 0;
      let title = 0;
      for (; at < end && occurrences[2 * at] === document; at++) {
        const position = occurrences[2 * at + 1] ?? 0;
        if (position < BODY_START) {
          if (title === TITLE_OCCURRENCES_MAX) continue;
          title++;
        }
        positions[count++] = position;
      }
      encoder.add(document, 4 * (count - title) + title, positions, 0, count);
    }
  }
}
