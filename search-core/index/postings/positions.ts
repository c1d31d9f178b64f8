import type { SharedFile } from '../../disk/checked.js';
import { BLOCK, BLOCK_BITS, unpack, unpackSome } from '../codec/bitpack.js';
import { ByteReader } from '../codec/varint.js';
import type { PostingsCursor } from './cursor.js';
import { align4, occurrences } from './layout.js';

/** With at least so many values of a group wanted, unpacking the whole group is faster. */
const WHOLE_GROUP = 32;

/** Reads the positions of single postings, and unpacks no more than it must for that. */
export class PositionsReader {
  /** What `read` read last, in its first places. */
  values = new Int32Array(BLOCK);
  /** The group that is unpacked in `gaps`; −1 for none. */
  private group = -1;
  private readonly gaps = new Int32Array(BLOCK);
  private block = -1;
  /** How many positions the block's postings have before each of them, and in all. */
  private readonly starts = new Int32Array(BLOCK + 1);
  /** Of the current block: where its group widths and groups start, how many groups. */
  private widths = 0;
  private groups = 0;
  private inBlock = 0;
  /** A group of the block and where it starts: the next one is found from there. */
  private knownGroup = 0;
  private knownAt = 0;

  constructor(
    private readonly file: SharedFile,
    private readonly cursor: PostingsCursor,
  ) {}

  /** Forgets the block: the cursor walks another term now. */
  reset(): void {
    this.block = -1;
  }

  /** All positions of the loaded block, posting after posting, for the codes of its cursor. */
  readBlock(out: Int32Array): Int32Array {
    this.enterBlock();
    const all = out.length < this.inBlock ? new Int32Array(2 * this.inBlock) : out;
    for (let group = 0; group * BLOCK < this.inBlock; group++) {
      this.loadGroup(group);
      const count = Math.min(BLOCK, this.inBlock - group * BLOCK);
      for (let i = 0; i < count; i++) all[group * BLOCK + i] = this.gaps[i] ?? 0;
    }
    let next = 0;
    for (let i = 0; i < this.cursor.size; i++) {
      let position = -1;
      for (let left = occurrences(this.cursor.codes[i] ?? 0); left > 0; left--) {
        position += (all[next] ?? 0) + 1;
        all[next++] = position;
      }
    }
    return all;
  }

  /**
   * Reads the positions, ascending, of the posting that the cursor stands on into `values`, until
   * the next read; returns how many there are.
   */
  read(): number {
    if (this.block !== this.cursor.block) this.enterBlock();
    const { at } = this.cursor;
    const from = this.starts[at] ?? 0;
    const to = this.starts[at + 1] ?? 0;
    if (to - from > this.values.length) this.values = new Int32Array(2 * (to - from));
    let position = -1;
    for (let next = from; next < to;) {
      const end = Math.min(to, ((next >> BLOCK_BITS) + 1) << BLOCK_BITS);
      position = this.readPart(next, end, next - from, position);
      next = end;
    }
    return to - from;
  }

  /**
   * Reads the positions of gaps `from` to `to` − 1 of the block, which are in one group, into
   * `values` from `out` on; `before` is the position before them. Returns the last.
   */
  private readPart(from: number, to: number, out: number, before: number): number {
    const group = from >> BLOCK_BITS;
    const isPacked = group < this.groups && to - from < WHOLE_GROUP && group !== this.group;
    if (isPacked) {
      const at = this.groupAt(group) >> 2;
      const bits = this.file.bytes[this.widths + group] ?? 0;
      const { words } = this.file;
      return unpackSome(words, at, bits, from & (BLOCK - 1), to - from, this.values, out, before);
    }
    if (group !== this.group) this.loadGroup(group);
    const { gaps, values } = this;
    let position = before;
    for (let i = from; i < to; i++) {
      position += (gaps[i & (BLOCK - 1)] ?? 0) + 1;
      values[out + i - from] = position;
    }
    return position;
  }

  private enterBlock(): void {
    const { cursor, starts } = this;
    cursor.loadCodes();
    this.block = cursor.block;
    this.group = -1;
    let sum = 0;
    for (let i = 0; i < cursor.size; i++) {
      sum += occurrences(cursor.codes[i] ?? 0);
      starts[i + 1] = sum;
    }
    this.inBlock = sum;
    this.groups = sum >> BLOCK_BITS;
    this.widths = cursor.entry.positionsAt + cursor.positionsStart();
    this.file.ensure(this.widths, this.widths + this.groups + 4);
    this.knownGroup = 0;
    this.knownAt = this.groups > 0 ? align4(this.widths + this.groups) : this.widths;
  }

  /** Where a group starts in the file, whose bytes are in memory then. */
  private groupAt(group: number): number {
    const { bytes } = this.file;
    for (; this.knownGroup > group; this.knownGroup--) {
      this.knownAt -= 16 * (bytes[this.widths + this.knownGroup - 1] ?? 0);
    }
    const end = Math.min(group, this.groups);
    for (; this.knownGroup < end; this.knownGroup++) {
      this.knownAt += 16 * (bytes[this.widths + this.knownGroup] ?? 0);
    }
    const length =
      group < this.groups
        ? 16 * (bytes[this.widths + group] ?? 0)
        : 5 * (this.inBlock - this.groups * BLOCK);
    this.file.ensure(this.knownAt, this.knownAt + length);
    return this.knownAt;
  }

  private loadGroup(group: number): void {
    const at = this.groupAt(group);
    this.group = group;
    if (group < this.groups) {
      unpack(this.file.words, at >> 2, this.file.bytes[this.widths + group] ?? 0, this.gaps);
      return;
    }
    const reader = new ByteReader(this.file.bytes, at);
    const rest = this.inBlock - this.groups * BLOCK;
    for (let i = 0; i < rest; i++) this.gaps[i] = reader.varint();
  }
}
