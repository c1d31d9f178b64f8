import { BLOCK, pack } from './bitpack.js';
import { ByteWriter } from './varint.js';

/**
 * A byte buffer for what will stand at any offset of a file, in which packed blocks lie at multiples
 * of 4 of the file: they are packed in place.
 */
export class WordWriter extends ByteWriter {
  private words = new Int32Array(this.bytes.buffer);
  private first = 0;

  /** Empties it for what will stand at `offset` of the file. */
  startAt(offset: number): void {
    this.first = this.length = offset & 3;
  }

  /** Bytes since `startAt`. */
  get written(): number {
    return this.length - this.first;
  }

  override reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const words = new Int32Array(
      Math.ceil(Math.max(2 * this.bytes.length, this.length + more) / 4),
    );
    words.set(this.words);
    this.words = words;
    this.bytes = new Uint8Array(words.buffer);
  }

  /** Appends the first `count` numbers, at a multiple of 4. */
  int32s(values: readonly number[], count: number): void {
    this.reserve(4 * count);
    const at = this.length >> 2;
    for (let i = 0; i < count; i++) this.words[at + i] = values[i] ?? 0;
    this.length += 4 * count;
  }

  /** Packs 128 of the values, at a multiple of 4. */
  pack(values: Int32Array, from: number, bits: number): void {
    this.reserve((BLOCK / 8) * bits);
    this.length += 4 * pack(values, bits, this.words, this.length >> 2, from);
  }

  /** Appends everything since `startAt` to another buffer or a file. */
  appendTo(target: { append(bytes: Uint8Array, start: number, end: number): void }): void {
    target.append(this.bytes, this.first, this.length);
  }
}
