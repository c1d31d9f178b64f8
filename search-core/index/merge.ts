import type { Directory } from '../disk/directory.js';
import type { DeletedSet } from './deletes.js';
import type { SegmentMeta } from './files.js';
import type { PostingsCursor } from './postings/cursor.js';
import { occurrences } from './postings/layout.js';
import type { PositionsReader } from './postings/positions.js';
import type { Segment } from './segment.js';
import { SegmentWriter, type TermSink } from './segment-writer.js';
import { compareBytes, type TermEntry } from './terms.js';

export interface MergeInput {
  readonly segment: Segment;
  readonly deleted: DeletedSet;
}

/**
 * Writes one segment from several, in their order, without their deleted documents. The bounds are
 * computed anew for the averages of the new segment.
 */
export function mergeSegments(
  directory: Directory,
  name: string,
  inputs: readonly MergeInput[],
): SegmentMeta {
  const writer = new SegmentWriter(directory, name);
  const sources = inputs.map((input) => new Source(input, copyPages(writer, input)));
  return writer.finish((sink) => mergeTerms(sink, sources));
}

/** Copies the pages that are left; returns each document's new number, −1 for a deleted one. */
function copyPages(writer: SegmentWriter, { segment, deleted }: MergeInput): Int32Array {
  const numbers = new Int32Array(segment.meta.documents).fill(-1);
  const hashes = segment.urlHashes();
  for (const { first, end, packed } of segment.stored.all()) {
    let whole = true;
    for (let d = first; d < end; d++) whole &&= !deleted.has(d);
    if (whole) writer.stored.addBlock(packed, end - first);
    for (let d = first; d < end; d++) {
      if (deleted.has(d)) continue;
      if (!whole) {
        // Never a long page: those have a block to themselves.
        const { url, title, text } = segment.page(d);
        writer.stored.add(url, title, [{ text, words: 0 }]);
      }
      numbers[d] = writer.documents;
      const [body = 0, title = 0] = segment.norms.subarray(2 * d, 2 * d + 2);
      writer.addDocument(hashes[d] ?? 0, body, title);
    }
  }
  return numbers;
}

/** One input's terms and postings, walked in order. */
class Source {
  term: Uint8Array = new Uint8Array(0);
  private readonly terms: ReturnType<Segment['terms']['all']>;
  private readonly cursor: PostingsCursor;
  private readonly positions: PositionsReader;
  private entry: TermEntry | undefined;
  private buffer: Int32Array = new Int32Array(1 << 12);

  constructor(
    { segment }: MergeInput,
    private readonly numbers: Int32Array,
  ) {
    this.terms = segment.terms.all();
    this.cursor = segment.cursor();
    this.positions = segment.positions(this.cursor);
    this.next();
  }

  get done(): boolean {
    return this.entry === undefined;
  }

  next(): void {
    const step = this.terms.next();
    this.entry = step.done ? undefined : step.value.entry;
    this.term = step.done ? new Uint8Array(0) : step.value.term;
  }

  /** Gives the term's postings to the encoder under their new numbers. */
  write({ encoder }: TermSink): void {
    if (!this.entry) return;
    const { cursor, numbers } = this;
    cursor.open(this.entry);
    this.positions.reset();
    for (let block = 0; cursor.load(block); block++) {
      this.buffer = this.positions.readBlock(this.buffer);
      let from = 0;
      for (let i = 0; i < cursor.size; i++) {
        const code = cursor.codes[i] ?? 0;
        const to = from + occurrences(code);
        const number = numbers[cursor.documents[i] ?? 0] ?? -1;
        if (number >= 0) encoder.add(number, code, this.buffer, from, to);
        from = to;
      }
      if (block === cursor.blocks) break;
    }
  }
}

function mergeTerms(sink: TermSink, sources: readonly Source[]): void {
  for (;;) {
    let least: Source | undefined;
    for (const source of sources) {
      if (!source.done && (!least || compareTerms(source, least) < 0)) least = source;
    }
    if (!least) return;
    const term = least.term.slice();
    sink.start();
    for (const source of sources) {
      if (source.done || compareTerms(source, { term }) !== 0) continue;
      source.write(sink);
      source.next();
    }
    sink.end(term);
  }
}

function compareTerms(a: { term: Uint8Array }, b: { term: Uint8Array }): number {
  return compareBytes(a.term, 0, a.term.length, b.term, 0, b.term.length);
}
