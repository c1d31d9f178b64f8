/**
 * The sound stretches of a file that may be damaged. A gzip file is read member after member;
 * where decompression fails, reading goes on at the next member's header behind the damage. So a
 * damaged record costs itself, not the rest of the file.
 */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createGunzip, type Gunzip } from 'node:zlib';

const CHUNK = 64 * 1024;
/** Deflate expands up to about a thousand times: so one piece comes to 16 MB at the most. */
const INPUT_CHUNK = 16 * 1024;
/** RFC 1952, section 2.3.1: the magic number, and deflate as the method. */
const MEMBER = Buffer.from([0x1f, 0x8b, 0x08]);

export interface SegmentPorts {
  /** Told the file's bytes that have been read. */
  readonly onBytes: (read: number) => void;
  /** Told the byte at which something was unreadable. */
  readonly onDamage: (offset: number) => void;
}

/** Yields the file's stretches, each a stream of decompressed bytes; read them in order. */
export async function* segmentsOf(
  path: string,
  ports: SegmentPorts,
): AsyncIterable<AsyncIterable<Buffer>> {
  const isGzip = (await nextMember(path, 0, MEMBER.length)) === 0;
  if (!isGzip) {
    yield plainBytes(path, ports);
    return;
  }
  let from: number | undefined = 0;
  while (from !== undefined) {
    const state: MemberState = { from };
    yield gunzipped(path, state, ports);
    if (state.damagedAt === undefined) return;
    ports.onDamage(state.damagedAt);
    // Damage shows in the member itself, or only where the next one should have begun.
    from = state.damagedAt > from ? state.damagedAt : await nextMember(path, from + 1);
  }
}

async function* plainBytes(path: string, { onBytes }: SegmentPorts): AsyncIterable<Buffer> {
  let read = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK })) {
    const bytes = chunk as Buffer;
    read += bytes.length;
    onBytes(read);
    yield bytes;
  }
}

interface MemberState {
  readonly from: number;
  /** Where the piece starts in which decompression failed: a member's header, or `from`. */
  damagedAt?: number;
}

/**
 * Decompresses from a member's header on. Every piece that may be a member is written by itself,
 * so that all that was sound before a damaged one has come out when the failure is noticed.
 */
async function* gunzipped(
  path: string,
  state: MemberState,
  { onBytes }: SegmentPorts,
): AsyncIterable<Buffer> {
  const gunzip = createGunzip({ chunkSize: CHUNK });
  let ready: Buffer[] = [];
  gunzip.on('data', (chunk: Buffer) => ready.push(chunk));
  let failure: Error | undefined;
  // A failure ends the write that it happens in without calling back.
  let wake = (): void => undefined;
  gunzip.on('error', (error) => {
    failure = error;
    wake();
  });
  let at = state.from;
  let memberAt = state.from;
  try {
    for await (const chunk of createReadStream(path, { start: at, highWaterMark: INPUT_CHUNK })) {
      for (const piece of piecesOf(chunk as Buffer)) {
        if (isMember(piece)) memberAt = at;
        await new Promise<void>((resolve) => {
          wake = resolve;
          gunzip.write(piece, () => resolve());
        });
        yield* ready;
        ready = [];
        if (failure !== undefined) break;
        at += piece.length;
        onBytes(at);
      }
      if (failure !== undefined) break;
    }
    if (failure === undefined) await endOf(gunzip);
    yield* ready;
    if (failure === undefined) return;
    if (!isDamage(failure)) throw failure;
    state.damagedAt = memberAt;
  } finally {
    gunzip.destroy();
  }
}

/** Resolves when a stream has ended or failed. */
function endOf(stream: Gunzip): Promise<void> {
  return new Promise((resolve) => {
    stream.once('end', resolve).once('error', () => resolve());
    stream.end();
  });
}

function isMember(piece: Buffer): boolean {
  return piece.subarray(0, MEMBER.length).equals(MEMBER);
}

/** A chunk cut before everything that looks like a member's header. */
function* piecesOf(chunk: Buffer): Iterable<Buffer> {
  let from = 0;
  for (let at = chunk.indexOf(MEMBER, 1); at >= 0; at = chunk.indexOf(MEMBER, at + 1)) {
    yield chunk.subarray(from, at);
    from = at;
  }
  yield chunk.subarray(from);
}

/** Z_DATA_ERROR, Z_BUF_ERROR (the file ends early): the bytes are wrong, not the disk. */
function isDamage(error: unknown): boolean {
  const code: unknown = typeof error === 'object' && error !== null && Reflect.get(error, 'code');
  return typeof code === 'string' && code.startsWith('Z_');
}

/** Where the next gzip member may start, at `from` or behind it and before `to`. */
async function nextMember(path: string, from: number, to = Infinity): Promise<number | undefined> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(CHUNK + MEMBER.length);
    for (let at = from; at < to; at += CHUNK) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
      if (bytesRead < MEMBER.length) return undefined;
      const found = buffer.subarray(0, bytesRead).indexOf(MEMBER);
      if (found >= 0) return at + found < to ? at + found : undefined;
    }
    return undefined;
  } finally {
    await file.close();
  }
}
