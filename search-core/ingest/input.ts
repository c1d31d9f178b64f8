/** Opens the files that ingest reads: plain or gzip (also of several members), or standard input. */
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

export interface Input {
  /** Decompressed bytes; ends with an error where the file cannot be read or is damaged. */
  readonly bytes: AsyncIterable<Buffer>;
  /** Size on disk, where it is known. */
  readonly sizeBytes: number | undefined;
  /** Bytes of the file read so far, before decompression. */
  readBytes(): number;
}

/** Opens `path`, or standard input for `-`. Rejects when the file cannot be read. */
export async function openInput(path: string, stdin: Readable = process.stdin): Promise<Input> {
  if (path === '-') return inputOf(stdin, undefined, false);
  const { size, isGzip } = await probe(path);
  return inputOf(createReadStream(path, { highWaterMark: 256 * 1024 }), size, isGzip);
}

async function probe(path: string): Promise<{ size: number; isGzip: boolean }> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    const isGzip = bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
    return { size: (await stat(path)).size, isGzip };
  } finally {
    await file.close();
  }
}

function inputOf(file: Readable, sizeBytes: number | undefined, isGzip: boolean): Input {
  let read = 0;
  file.on('data', (chunk: Buffer) => {
    read += chunk.length;
  });
  file.pause();
  const source = isGzip ? gunzipped(file) : file;
  return { bytes: source, sizeBytes, readBytes: () => read };
}

/**
 * What a gzip file holds. Its error, and that of the file, comes to whoever reads it, however late:
 * a damaged file may be found out before anybody reads.
 */
export function gunzipped(file: Readable): Readable {
  const gunzip = createGunzip({ chunkSize: 256 * 1024 });
  gunzip.on('error', () => undefined);
  return pipeline(file, gunzip, () => undefined);
}

/** One line of a stream, without its line feed; `undefined` bytes where it was too long. */
export interface Line {
  readonly number: number;
  readonly bytes: Buffer | undefined;
}

/** Cuts a stream into lines. Memory is bounded by `lengthMax` bytes whatever the stream holds. */
export async function* linesOf(
  bytes: AsyncIterable<Buffer>,
  lengthMax: number,
): AsyncIterable<Line> {
  let number = 0;
  let held: Buffer[] = [];
  let heldLength = 0;
  const hold = (part: Buffer): void => {
    heldLength += part.length;
    if (heldLength <= lengthMax) held.push(part);
    else held = [];
  };
  const take = (): Line => {
    number += 1;
    const line = heldLength > lengthMax ? undefined : Buffer.concat(held);
    held = [];
    heldLength = 0;
    return { number, bytes: line };
  };
  for await (const chunk of bytes) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      hold(chunk.subarray(from, end));
      yield take();
      from = end + 1;
    }
    if (from < chunk.length) hold(chunk.subarray(from));
  }
  if (heldLength > 0) yield take();
}
