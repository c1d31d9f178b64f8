import { open, readFile, rename, stat, unlink, mkdir, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PaymentError } from '../errors.js';
import { carryOver, type PaymentStore, type Records } from '../payment/store.js';
import type { PaymentRecord } from '../payment/record.js';

/** The lock is held for one small write; one this old was left by a process that was killed. */
const LOCK_STALE_MS = 10_000;
const LOCK_PATIENCE_MS = 30_000;
const LOCK_POLL_MS = 5;
/** Superseded lines beyond this make the file worth rewriting. */
const DEAD_LINES_MAX = 2_000;

const isCode = (error: unknown, code: string) =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === code;

function encode(record: PaymentRecord): string {
  return `${JSON.stringify({ ...record, amountUnits: record.amountUnits.toString() })}\n`;
}

/** What the file holds. */
interface Book {
  readonly records: Map<string, PaymentRecord>;
  readonly lines: number;
  /** Whether a crash cut the last line short; its change was never acknowledged. */
  readonly isTorn: boolean;
}

function decode(content: string, path: string): Book {
  const lines = content.split('\n');
  const isTorn = lines.pop() !== '';
  const records = new Map<string, PaymentRecord>();
  for (const [index, line] of lines.entries()) {
    try {
      const value = JSON.parse(line) as PaymentRecord & { amountUnits: string };
      records.set(value.id, { ...value, amountUnits: BigInt(value.amountUnits) });
    } catch (error) {
      const message = `the payment log ${path} is damaged in line ${index + 1}; nothing was signed`;
      throw new PaymentError(message, { cause: error });
    }
  }
  return { records, lines: lines.length, isTorn };
}

/**
 * Keeps payments in a file of JSON lines (mode 0600: it holds signed payments). Several processes
 * may share it; each change holds a lock file and is flushed to the disk before it counts.
 * Not for network file systems.
 */
export class FileStore implements PaymentStore {
  #last: Promise<unknown> = Promise.resolve();

  /** @param path the file; it and its directory are made when they are missing */
  constructor(private readonly path: string) {}

  async list(): Promise<readonly PaymentRecord[]> {
    return [...(await this.#read()).records.values()];
  }

  update(change: (records: Records) => PaymentRecord | undefined): Promise<void> {
    const next = this.#last.then(() => this.#update(change));
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #update(change: (records: Records) => PaymentRecord | undefined): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    const unlock = await this.#lock();
    try {
      const book = await this.#read();
      const put = change(book.records);
      if (put) await this.#write(book, put);
    } finally {
      await unlock();
    }
  }

  async #read(): Promise<Book> {
    try {
      return decode(await readFile(this.path, 'utf8'), this.path);
    } catch (error) {
      if (isCode(error, 'ENOENT')) return { records: new Map(), lines: 0, isTorn: false };
      throw error;
    }
  }

  async #write({ records, lines, isTorn }: Book, put: PaymentRecord): Promise<void> {
    records.set(put.id, put);
    const carried = carryOver(records, put.createdAtMs);
    for (const id of carried?.remove ?? []) records.delete(id);
    if (carried) records.set(carried.put.id, carried.put);
    if (!isTorn && !carried && lines - records.size < DEAD_LINES_MAX) {
      await flushed(this.path, 'a', encode(put));
    } else {
      const draft = `${this.path}.new`;
      await flushed(draft, 'w', [...records.values()].map(encode).join(''));
      await rename(draft, this.path);
    }
    if (lines === 0 || isTorn) await syncDirectory(dirname(this.path));
  }

  async #lock(): Promise<() => Promise<void>> {
    const lock = `${this.path}.lock`;
    for (let waitedMs = 0; ; waitedMs += LOCK_POLL_MS) {
      try {
        const handle = await open(lock, 'wx', 0o600);
        await handle.close();
        return () => unlink(lock).catch(() => undefined);
      } catch (error) {
        if (!isCode(error, 'EEXIST')) throw error;
      }
      const age = await stat(lock).then(
        ({ mtimeMs }) => Date.now() - mtimeMs,
        () => 0,
      );
      if (age > LOCK_STALE_MS) await unlink(lock).catch(() => undefined);
      if (waitedMs > LOCK_PATIENCE_MS) {
        throw new PaymentError(`the payment log stays locked; is ${lock} left over?`);
      }
      await sleep(LOCK_POLL_MS);
    }
  }
}

async function flushed(path: string, flags: 'a' | 'w', content: string): Promise<void> {
  const handle: FileHandle = await open(path, flags, 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes a rename durable, where the platform lets directories be opened. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
