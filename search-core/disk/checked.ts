import { crc32 } from 'node:zlib';
import { copyBytes } from './copy.js';
import type { Directory, InputFile, OutputFile } from './directory.js';
import { borrowed, type OpenFile } from './filesystem.js';

/**
 * A file with checksums: data, then a CRC-32 for every 64 KiB of it, then a footer
 * (data length: 8 bytes, CRC-32 of the table: 4 bytes, magic: 4 bytes; all little-endian).
 */
const CHUNK = 1 << 16;
const FOOTER = 16;
const MAGIC = 0x32303453;

/** Writes a checked file, buffered; `finish` makes it durable. */
export class CheckedWriter {
  /** Bytes of data so far: the offset of what is appended next. */
  position = 0;
  private readonly buffer = new Uint8Array(CHUNK);
  private readonly sums: number[] = [];
  private readonly file: OutputFile;

  constructor(directory: Directory, name: string) {
    this.file = directory.create(name);
  }

  append(bytes: Uint8Array, start = 0, end = bytes.length): void {
    for (let at = start; at < end;) {
      const filled = this.position % CHUNK;
      const count = Math.min(CHUNK - filled, end - at);
      copyBytes(bytes, at, at + count, this.buffer, filled);
      this.position += count;
      at += count;
      if (filled + count === CHUNK) this.flush(CHUNK);
    }
  }

  finish(): void {
    if (this.position % CHUNK > 0) this.flush(this.position % CHUNK);
    const tail = Buffer.alloc(4 * this.sums.length + FOOTER);
    this.sums.forEach((sum, i) => tail.writeUInt32LE(sum, 4 * i));
    const at = 4 * this.sums.length;
    tail.writeBigUInt64LE(BigInt(this.position), at);
    tail.writeUInt32LE(crc32(tail.subarray(0, at + 8)), at + 8);
    tail.writeUInt32LE(MAGIC, at + 12);
    this.file.append(tail);
    this.file.sync();
    this.file.close();
  }

  /** Closes the file as it is: it is not a checked file and will be swept up. */
  abandon(): void {
    this.file.close();
  }

  private flush(length: number): void {
    const chunk = this.buffer.subarray(0, length);
    this.sums.push(crc32(chunk));
    this.file.append(chunk);
  }
}

/** The index is damaged: a checksum or a length is not what was written. */
export class DamagedIndexError extends Error {
  override readonly name = 'DamagedIndexError';
}

/** A file's checksums and length, read from its end. */
interface Contents {
  readonly length: number;
  readonly sums: Uint32Array;
}

/**
 * Whether all of a checked file is there, by its end.
 * @throws DamagedIndexError where a copy of it is still under way, or was cut off
 */
export function assertWhole(file: InputFile, name: string): void {
  readContents(file, name);
}

function readContents(file: InputFile, name: string): Contents {
  const damaged = (): never => {
    throw new DamagedIndexError(`${name}: the end of the file is damaged`);
  };
  if (file.size < FOOTER) return damaged();
  const footer = Buffer.alloc(FOOTER);
  file.read(footer, file.size - FOOTER);
  const length = Number(footer.readBigUInt64LE(0));
  const tableLength = 4 * Math.ceil(length / CHUNK);
  if (footer.readUInt32LE(12) !== MAGIC) return damaged();
  if (file.size !== length + tableLength + FOOTER) return damaged();
  const table = Buffer.alloc(tableLength + 8);
  file.read(table, length);
  if (crc32(table) !== footer.readUInt32LE(8)) return damaged();
  return {
    length,
    sums: Uint32Array.from({ length: tableLength / 4 }, (_, i) => table.readUInt32LE(4 * i)),
  };
}

/** What another thread needs to read the same memory, and to fill it from the same open file. */
export interface SharedFileHandle {
  readonly name: string;
  readonly file: OpenFile;
  readonly memory: SharedArrayBuffer;
  readonly loaded: SharedArrayBuffer;
}

/**
 * A checked file in memory that all threads share, read from disk chunk by chunk when it is first
 * needed, and checked while it is read. Opening it reads its checksums only; memory that nothing
 * asked for is never touched, so the system never provides it. Two threads that need the same
 * chunk at the same time both read it: they write the same bytes.
 */
export class SharedFile {
  readonly bytes: Uint8Array;
  /** The same bytes as little-endian 32-bit words (the machines that Node runs on are such). */
  readonly words: Int32Array;
  private readonly loaded: Uint8Array;
  private allLoaded = false;

  private constructor(
    private readonly file: InputFile,
    private readonly contents: Contents,
    readonly handle: SharedFileHandle,
  ) {
    this.bytes = new Uint8Array(handle.memory, 0, contents.length);
    this.words = new Int32Array(handle.memory);
    this.loaded = new Uint8Array(handle.loaded);
  }

  static open(directory: Directory, name: string): SharedFile {
    const file = directory.open(name);
    try {
      const contents = readContents(file, name);
      return new SharedFile(file, contents, {
        name,
        file: openFileOf(file),
        memory: new SharedArrayBuffer(Math.ceil((contents.length + 8) / 4) * 4),
        loaded: new SharedArrayBuffer(contents.sums.length),
      });
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** The same file in another thread: nothing is opened, so it need not be in its directory any more. */
  static attach(handle: SharedFileHandle): SharedFile {
    const file = borrowed(handle.file, handle.name);
    return new SharedFile(file, readContents(file, handle.name), handle);
  }

  get length(): number {
    return this.contents.length;
  }

  /** Makes sure that bytes `start` to `end` are in memory; throws DamagedIndexError. */
  ensure(start: number, end: number): void {
    if (this.allLoaded) return;
    const last = Math.ceil(Math.min(end, this.length) / CHUNK);
    for (let chunk = Math.floor(start / CHUNK); chunk < last; chunk++) {
      if (Atomics.load(this.loaded, chunk) === 0) this.load(chunk);
    }
  }

  /** Reads everything that is not in memory yet. */
  ensureAll(): void {
    this.ensure(0, this.length);
    this.allLoaded = true;
  }

  /** Reads the whole file and compares every checksum; what is in memory does not count. */
  verify(): void {
    for (let chunk = 0; chunk < this.contents.sums.length; chunk++) this.load(chunk);
  }

  close(): void {
    this.file.close();
  }

  private load(chunk: number): void {
    const start = chunk * CHUNK;
    const target = this.bytes.subarray(start, Math.min(start + CHUNK, this.length));
    this.file.read(target, start);
    if (crc32(target) !== this.contents.sums[chunk]) {
      throw new DamagedIndexError(`${this.handle.name}: bytes from ${start} on are damaged`);
    }
    Atomics.store(this.loaded, chunk, 1);
  }
}

/** For other threads; a directory in memory has no threads beside it, and no descriptors. */
export function openFileOf({ descriptor = -1, size }: InputFile): OpenFile {
  return { descriptor, size };
}
