import type { Directory } from '../disk/directory.js';
import type { DeletedSet } from './deletes.js';
import type { SegmentMeta } from './files.js';
import type { PostingsCursor } from './postings/cursor.js';
import { occurrences } from './postings/layout.js';
import type { PositionsReader } from './postings/positions.js';
import type { Segment } from './segment.js';
import { SegmentWriter, type TermSink } from './segment-writer.js';
import { compareBytes } from './terms.js';

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
  private readonly terms: ReturnType<Segment['terms']['walk']>;
  private readonly cursor: PostingsCursor;
  private readonly positions: PositionsReader;
  private buffer: Int32Array = new Int32Array(1 << 12);
  /** The first four bytes of the term, as a number; Infinity after the last term. */
  private prefix = 0;

  constructor(
    { segment }: MergeInput,
    private readonly numbers: Int32Array,
  ) {
    this.terms = segment.terms.walk();
    this.cursor = segment.cursor();
    this.positions = segment.positions(this.cursor);
    this.next();
  }

  get done(): boolean {
    return this.prefix === Infinity;
  }

  get term(): Uint8Array {
    return this.terms.bytes.subarray(0, this.terms.length);
  }

  next(): void {
    if (!this.terms.next()) {
      this.prefix = Infinity;
      return;
    }
    const { bytes, length } = this.terms;
    this.prefix = 0;
    for (let i = 0; i < 4; i++) {
      this.prefix = 256 * this.prefix + (i < length ? (bytes[i] ?? 0) : 0);
    }
  }

  /** Compares the term with another one's: below 0, 0, or above. */
  compare(other: Source): number {
    if (this.prefix !== other.prefix) return this.prefix - other.prefix;
    const [a, b] = [this.terms, other.terms];
    return compareBytes(a.bytes, 0, a.length, b.bytes, 0, b.length);
  }

  /** Gives the term's postings to the encoder under their new numbers. */
  write({ encoder }: TermSink): void {
    const { cursor, numbers } = this;
    cursor.open(this.terms.entry);
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
    let holders: Source[] = [];
    for (const source of sources) {
      if (source.done) continue;
      const order = least ? source.compare(least) : -1;
      if (order > 0) continue;
      if (order < 0) {
        least = source;
        holders = [];
      }
      holders.push(source);
    }
    if (!least) return;
    sink.start();
    for (const source of holders) source.write(sink);
    sink.end(least.term);
    for (const source of holders) source.next();
  }
}
