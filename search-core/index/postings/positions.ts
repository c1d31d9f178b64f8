import type { SharedFile } from '../../disk/checked.js';
import { BLOCK, BLOCK_BITS, unpack } from '../codec/bitpack.js';
import { ByteReader } from '../codec/varint.js';
import type { PostingsCursor } from './cursor.js';
import { align4, occurrences } from './layout.js';

/** Reads the positions of single postings, unpacking only the groups that they lie in. */
export class PositionsReader {
  private readonly gaps = new Int32Array(BLOCK);
  private group = -1;
  private block = -1;
  /** Of the current block: where its group widths, groups and varints start, how many groups. */
  private widths = 0;
  private groups = 0;
  private data = 0;
  private inBlock = 0;

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
    this.cursor.loadCodes();
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

  /** The positions, ascending, of the posting that the cursor stands on. */
  read(): Int32Array {
    const code = this.cursor.code();
    const count = occurrences(code);
    const before = this.cursor.positionsBefore();
    if (this.block !== this.cursor.block) this.enterBlock();
    const out = new Int32Array(count);
    let position = -1;
    for (let i = 0; i < count; i++) {
      const index = before + i;
      const group = index >> BLOCK_BITS;
      if (group !== this.group) this.loadGroup(group);
      position += (this.gaps[index & (BLOCK - 1)] ?? 0) + 1;
      out[i] = position;
    }
    return out;
  }

  private enterBlock(): void {
    const { entry } = this.cursor;
    this.block = this.cursor.block;
    this.group = -1;
    this.inBlock = this.cursor.positionsInBlock();
    this.groups = Math.floor(this.inBlock / BLOCK);
    this.widths = entry.positionsAt + this.cursor.positionsStart();
    this.file.ensure(this.widths, this.widths + this.groups + 4);
    this.data = this.groups > 0 ? align4(this.widths + this.groups) : this.widths;
  }

  private loadGroup(group: number): void {
    this.group = group;
    const { bytes, words } = this.file;
    let at = this.data;
    const full = Math.min(group, this.groups);
    for (let g = 0; g < full; g++) at += 16 * (bytes[this.widths + g] ?? 0);
    if (group < this.groups) {
      const bits = bytes[this.widths + group] ?? 0;
      this.file.ensure(at, at + 16 * bits);
      unpack(words, at >> 2, bits, this.gaps);
      return;
    }
    const rest = this.inBlock - this.groups * BLOCK;
    this.file.ensure(at, at + 5 * rest);
    const reader = new ByteReader(bytes, at);
    for (let i = 0; i < rest; i++) this.gaps[i] = reader.varint();
  }
}
