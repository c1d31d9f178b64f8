import { copyBytes } from '../../disk/copy.js';

/**
 * Variable-length unsigned integers: seven bits a byte, the lowest first, the top bit says that
 * more follow (LEB128). Values up to 2^53 − 1.
 */

const encoder = new TextEncoder();

/** A growing byte buffer with the index's primitive encodings. */
export class ByteWriter {
  bytes: Uint8Array;
  length = 0;

  constructor(capacity = 1 << 12) {
    this.bytes = new Uint8Array(capacity);
  }

  /** Makes room for `more` bytes. */
  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(2 * this.bytes.length, this.length + more));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  varint(value: number): void {
    this.reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.length++] = (rest % 0x80) | 0x80;
      rest = rest > 0x7fffffff ? Math.floor(rest / 0x80) : rest >>> 7;
    }
    this.bytes[this.length++] = rest;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  /** Little-endian, 4 bytes. */
  int32(value: number): void {
    this.reserve(4);
    this.bytes[this.length++] = value;
    this.bytes[this.length++] = value >>> 8;
    this.bytes[this.length++] = value >>> 16;
    this.bytes[this.length++] = value >>> 24;
  }

  /** Appends a text as UTF-8; returns its bytes. */
  utf8(text: string): number {
    this.reserve(3 * text.length);
    const { written } = encoder.encodeInto(text, this.bytes.subarray(this.length));
    this.length += written;
    return written;
  }

  append(source: Uint8Array, start = 0, end = source.length): void {
    this.reserve(end - start);
    copyBytes(source, start, end, this.bytes, this.length);
    this.length += end - start;
  }

  /** Zero bytes until the length is a multiple of 4. */
  align4(): void {
    while (this.length % 4 !== 0) this.byte(0);
  }

  clear(): void {
    this.length = 0;
  }

  view(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }
}

/** Reads what ByteWriter wrote. Reading past the end gives zeros, never another list's memory. */
export class ByteReader {
  constructor(
    public bytes: Uint8Array,
    public at = 0,
  ) {}

  varint(): number {
    const { bytes } = this;
    let byte = bytes[this.at++] ?? 0;
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    let scale = 0x80;
    do {
      byte = bytes[this.at++] ?? 0;
      value += (byte & 0x7f) * scale;
      scale *= 0x80;
    } while (byte >= 0x80);
    return value;
  }

  byte(): number {
    return this.bytes[this.at++] ?? 0;
  }
}
