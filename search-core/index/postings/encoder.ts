import { BLOCK, bitsFor, pack } from '../codec/bitpack.js';
import { ByteWriter } from '../codec/varint.js';
import { encodeBound, headerBytes } from './layout.js';

/** The saturated weight of a posting: what it can add to a score, divided by the term's idf. */
type WeightOf = (document: number, code: number) => number;

/** What the dictionary keeps of an encoded term. */
interface EncodedTerm {
  readonly documents: number;
  /** The largest of the term's bounds, encoded. */
  readonly bound: number;
  /** Both lists; they are overwritten by the next term. */
  readonly postings: Uint8Array;
  readonly positions: Uint8Array;
}

/** Encodes one term after the other, each from its postings in ascending document order. */
export class TermEncoder {
  private readonly postings = new ByteWriter(1 << 16);
  private readonly positions = new ByteWriter(1 << 16);
  private readonly blocks = new ByteWriter(1 << 16);
  private readonly documents = new Int32Array(BLOCK);
  private readonly codes = new Int32Array(BLOCK);
  private readonly gaps = new Int32Array(BLOCK);
  private readonly words = new Int32Array(4 * 32 + 1);
  private readonly wordBytes = new Uint8Array(this.words.buffer);
  private readonly lastDocuments: number[] = [];
  private readonly ends: number[] = [];
  private readonly positionStarts: number[] = [];
  private readonly bounds: number[] = [];
  private pending = new Int32Array(1 << 12);
  private pendingCount = 0;
  private filled = 0;
  private count = 0;
  private previous = -1;
  private positionsBase = 0;

  constructor(private readonly weightOf: WeightOf) {}

  /** Starts a term whose positions will stand at `positionsBase` in their file. */
  start(positionsBase: number): void {
    for (const list of [this.lastDocuments, this.ends, this.positionStarts, this.bounds]) {
      list.length = 0;
    }
    for (const bytes of [this.postings, this.positions, this.blocks]) bytes.clear();
    this.positionsBase = positionsBase;
    this.pendingCount = 0;
    this.filled = 0;
    this.count = 0;
    this.previous = -1;
  }

  /**
   * Adds a posting. Documents ascend; `positions[from … to)` ascend, as many as the code says.
   */
  add(document: number, code: number, positions: Int32Array, from: number, to: number): void {
    if (this.filled === BLOCK) this.flushBlock();
    this.documents[this.filled] = document;
    this.codes[this.filled] = code;
    this.filled++;
    this.count++;
    const size = this.pendingCount + to - from;
    if (size > this.pending.length) {
      const grown = new Int32Array(2 * size);
      grown.set(this.pending.subarray(0, this.pendingCount));
      this.pending = grown;
    }
    let previous = -1;
    for (let i = from; i < to; i++) {
      const position = positions[i] ?? 0;
      this.pending[this.pendingCount++] = position - previous - 1;
      previous = position;
    }
  }

  /** Ends the term. `postingsBase` is where its postings will stand in their file. */
  finish(postingsBase: number): EncodedTerm {
    if (this.filled === BLOCK) this.flushBlock();
    const blocks = this.lastDocuments.length;
    this.positionStarts.push(this.positions.length);
    this.bounds.push(this.boundOfPending());
    this.flushPositions();
    if (blocks > 0) {
      this.postings.align4(postingsBase);
      this.writeHeader(blocks);
      this.postings.append(this.blocks.view());
    }
    for (let i = 0; i < this.filled; i++) {
      const document = this.documents[i] ?? 0;
      this.postings.varint(document - this.previous - 1);
      this.postings.varint(this.codes[i] ?? 0);
      this.previous = document;
    }
    return {
      documents: this.count,
      bound: this.bounds.reduce((a, b) => Math.max(a, b), 0),
      postings: this.postings.view(),
      positions: this.positions.view(),
    };
  }

  private writeHeader(blocks: number): void {
    const start = this.postings.length;
    for (const value of this.lastDocuments) this.postings.int32(value);
    for (const value of this.ends) this.postings.int32(value);
    for (const value of this.positionStarts) this.postings.int32(value);
    for (const value of this.bounds) this.postings.byte(value);
    while (this.postings.length - start < headerBytes(blocks)) this.postings.byte(0);
  }

  private boundOfPending(): number {
    let largest = 0;
    for (let i = 0; i < this.filled; i++) {
      const weight = this.weightOf(this.documents[i] ?? 0, this.codes[i] ?? 0);
      if (weight > largest) largest = weight;
    }
    return encodeBound(largest);
  }

  private flushBlock(): void {
    this.positionStarts.push(this.positions.length);
    this.bounds.push(this.boundOfPending());
    for (let i = 0; i < BLOCK; i++) {
      const document = this.documents[i] ?? 0;
      this.gaps[i] = document - this.previous - 1;
      this.previous = document;
    }
    const gapBits = bitsFor(this.gaps);
    const codeBits = bitsFor(this.codes);
    this.blocks.int32(gapBits | (codeBits << 8));
    this.appendPacked(this.blocks, this.gaps, gapBits);
    this.appendPacked(this.blocks, this.codes, codeBits);
    this.lastDocuments.push(this.previous);
    this.ends.push(this.blocks.length);
    this.filled = 0;
    this.flushPositions();
  }

  /** Writes the pending postings' positions: whole groups packed, the rest as varints. */
  private flushPositions(): void {
    const groups = Math.floor(this.pendingCount / BLOCK);
    const group = (g: number): Int32Array => this.pending.subarray(g * BLOCK, g * BLOCK + BLOCK);
    if (groups > 0) {
      for (let g = 0; g < groups; g++) this.positions.byte(bitsFor(group(g)));
      this.positions.align4(this.positionsBase);
      for (let g = 0; g < groups; g++) {
        this.appendPacked(this.positions, group(g), bitsFor(group(g)));
      }
    }
    for (let i = groups * BLOCK; i < this.pendingCount; i++) {
      this.positions.varint(this.pending[i] ?? 0);
    }
    this.pendingCount = 0;
  }

  private appendPacked(out: ByteWriter, values: Int32Array, bits: number): void {
    const used = pack(values, bits, this.words, 0);
    out.append(this.wordBytes, 0, 4 * used);
  }
}
