/**
 * Cuts a stream of WARC records (ISO 28500:2017, section 4) into whole records. Where the stream
 * stops making sense, reading goes on at the next `WARC/1.x` line. Memory is bounded by one record.
 */
const VERSION = Buffer.from('WARC/1.');
const HEAD_END = Buffer.from('\r\n\r\n');
const HEAD_BYTES_MAX = 64 * 1024;

/** Bytes of a record's content at the most; longer ones are skipped, not held. */
export const RECORD_BYTES_MAX = 8 * 1024 * 1024;

export type Frame =
  /** A whole record: header, content, and the two line ends behind it. */
  | { readonly kind: 'record'; readonly bytes: Buffer }
  | { readonly kind: 'damaged' }
  | { readonly kind: 'too_large' };

/** Reads records; at the most about 16 MB are held at a time. */
export async function* framesOf(bytes: AsyncIterable<Buffer>): AsyncIterable<Frame> {
  const reader = new Reader(bytes);
  while (await reader.seek()) {
    const head = await reader.head();
    const length = head === undefined ? undefined : contentLength(head);
    if (head === undefined || length === undefined) {
      reader.skip(VERSION.length);
      yield { kind: 'damaged' };
    } else if (length > RECORD_BYTES_MAX) {
      await reader.skipFar(head.length + length);
      yield { kind: 'too_large' };
    } else {
      const size = head.length + length + HEAD_END.length;
      const record = await reader.peek(size);
      const behind = record.subarray(head.length + length);
      // The last record of a file may lack the line ends behind it.
      const isWhole = record.length >= head.length + length && isLineEnds(behind);
      // Behind a wrong length the next record is found by its first line.
      reader.skip(isWhole ? record.length : VERSION.length);
      yield isWhole ? { kind: 'record', bytes: record } : { kind: 'damaged' };
    }
  }
}

function isLineEnds(bytes: Buffer): boolean {
  return bytes.every((byte, at) => byte === HEAD_END[at]);
}

/** The `Content-Length` of a record's header, a whole number of bytes. */
function contentLength(head: Buffer): number | undefined {
  const found = /^content-length:[ \t]*(\d{1,15})[ \t]*\r?$/imu.exec(head.toString('latin1'))?.[1];
  return found === undefined ? undefined : Number(found);
}

/** A window over a stream that grows as far as it is looked at. */
class Reader {
  private held: Buffer = Buffer.alloc(0);
  private readonly source: AsyncIterator<Buffer>;

  constructor(bytes: AsyncIterable<Buffer>) {
    this.source = bytes[Symbol.asyncIterator]();
  }

  /** Moves to the next version line; false at the end. */
  async seek(): Promise<boolean> {
    for (;;) {
      const at = this.held.indexOf(VERSION);
      if (at >= 0) {
        this.skip(at);
        return true;
      }
      this.skip(Math.max(0, this.held.length - VERSION.length + 1));
      if (!(await this.more())) return false;
    }
  }

  /** The header with the empty line behind it; undefined where it does not end. */
  async head(): Promise<Buffer | undefined> {
    for (;;) {
      const end = this.held.indexOf(HEAD_END);
      if (end >= 0) return this.held.subarray(0, end + HEAD_END.length);
      if (this.held.length > HEAD_BYTES_MAX || !(await this.more())) return undefined;
    }
  }

  /** The next `size` bytes without moving; fewer at the end. */
  async peek(size: number): Promise<Buffer> {
    const parts = [this.held];
    let length = this.held.length;
    while (length < size) {
      const next = await this.source.next();
      if (next.done === true) break;
      parts.push(next.value);
      length += next.value.length;
    }
    if (parts.length > 1) this.held = Buffer.concat(parts);
    return this.held.subarray(0, size);
  }

  skip(size: number): void {
    this.held = this.held.subarray(size);
  }

  /** Moves on by `size` bytes without holding them. */
  async skipFar(size: number): Promise<void> {
    let left = size;
    while (left > this.held.length) {
      left -= this.held.length;
      this.held = Buffer.alloc(0);
      if (!(await this.more())) return;
    }
    this.skip(left);
  }

  private async more(): Promise<boolean> {
    const next = await this.source.next();
    if (next.done === true) return false;
    this.held = this.held.length === 0 ? next.value : Buffer.concat([this.held, next.value]);
    return true;
  }
}
