import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PaymentError } from '../errors.js';
import { RecordIndex } from '../payment/index-of-records.js';
import type { PaymentRecord } from '../payment/record.js';
import type { PaymentStore, StoreView } from '../payment/store-view.js';
import { putOnce, syncDirectory, writeFlushed } from './durable.js';
import { decodeRecords, encodeRecord, isCode } from './records.js';

/** The change that ends a generation; what it holds is then the next one's first file. */
const SEAL = '{"sealed":true}\n';
/** A generation is sealed after this many changes, or after a quarter of its records. */
const CHANGES_MIN = 1_000;

/**
 * Payments as a log: change n is the file `n` in the folder of its generation, made by one `link`
 * that fails where the name is taken. So two processes that have read the same changes cannot both
 * write the next one: the slower one reads the other's, and decides again. There is no lock, so
 * none is ever stale. A generation begins with all records in its file `base` and ends with a
 * seal; the next one is made under another name and renamed, so that it is there whole or not at
 * all. A folder that is over is renamed before it is deleted: nobody writes into half of it.
 */
export class LogStore implements PaymentStore {
  #index = new RecordIndex();
  #generation = 0;
  #next = 1;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(private readonly folder: string) {}

  /** @param earlier what a new log begins with */
  static async open(
    folder: string,
    earlier: () => Promise<readonly PaymentRecord[]>,
  ): Promise<LogStore> {
    const store = new LogStore(folder);
    if ((await newest(folder)) === undefined) await begin(folder, 1, await earlier());
    await store.#load();
    return store;
  }

  update(
    change: (view: StoreView) => PaymentRecord | undefined,
  ): Promise<PaymentRecord | undefined> {
    return this.#inTurn(async () => {
      for (;;) {
        await this.#catchUp();
        const put = change(this.#index);
        if (!put) return undefined;
        if (!(await this.#append(encodeRecord(put)))) continue;
        this.#index.put(put);
        if (this.#next > Math.max(CHANGES_MIN, this.#index.size / 4)) await this.#append(SEAL);
        return put;
      }
    });
  }

  read<T>(look: (view: StoreView) => T): Promise<T> {
    return this.#inTurn(async () => {
      await this.#catchUp();
      return look(this.#index);
    });
  }

  list(): Promise<readonly PaymentRecord[]> {
    return this.#inTurn(async () => {
      await this.#catchUp();
      return this.#index.values();
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work);
    this.#last = next.catch(() => undefined);
    return next;
  }

  #pathOf(name: number | string): string {
    return join(this.folder, String(this.#generation), String(name));
  }

  /** Whether the next change is this one; false when another process was first. */
  async #append(content: string): Promise<boolean> {
    try {
      const isOurs = await putOnce(this.#pathOf(this.#next), content, randomUUID());
      if (isOurs && content !== SEAL) this.#next += 1;
      return isOurs;
    } catch (error) {
      // The generation is over and its folder gone.
      if (isCode(error, 'ENOENT')) return false;
      throw error;
    }
  }

  /** Reads what other processes have changed since the last look. */
  async #catchUp(): Promise<void> {
    for (;;) {
      const path = this.#pathOf(this.#next);
      const content = exists(path) ? await readFile(path, 'utf8').catch(noFile) : undefined;
      if (content === undefined) {
        if (exists(this.#pathOf('base'))) return;
        await this.#load();
      } else if (content === SEAL) {
        await begin(this.folder, this.#generation + 1, this.#index.values());
        await this.#load();
      } else {
        for (const record of decodeRecords(content, path).values()) this.#index.put(record);
        this.#next += 1;
      }
    }
  }

  /** Reads the newest generation's first file, and forgets everything else. */
  async #load(): Promise<void> {
    for (;;) {
      const generation = await newest(this.folder);
      if (generation === undefined) {
        throw new PaymentError(`the payment log ${this.folder} was deleted while it was in use`);
      }
      this.#generation = generation;
      const base = this.#pathOf('base');
      const content = await readFile(base, 'utf8').catch(noFile);
      // It ended between the two looks.
      if (content === undefined) continue;
      const index = new RecordIndex();
      for (const record of decodeRecords(content, base).values()) index.put(record);
      index.carry(Date.now());
      this.#index = index;
      this.#next = 1;
      return;
    }
  }
}

/** Cheaper than a promise, and than an exception. */
const exists = (path: string) => statSync(path, { throwIfNoEntry: false }) !== undefined;

const noFile = (error: unknown): undefined => {
  if (isCode(error, 'ENOENT')) return undefined;
  throw error;
};

async function generations(folder: string): Promise<readonly number[]> {
  const names = await readdir(folder);
  return names.filter((name) => /^[1-9][0-9]*$/.test(name)).map(Number);
}

async function newest(folder: string): Promise<number | undefined> {
  const all = await generations(folder);
  return all.length === 0 ? undefined : Math.max(...all);
}

/** Makes a generation, unless another process has; what is older than the newest goes. */
async function begin(
  folder: string,
  generation: number,
  records: readonly PaymentRecord[],
): Promise<void> {
  const draft = join(folder, `${randomUUID()}.draft`);
  await mkdir(draft, { mode: 0o700 });
  await writeFlushed(join(draft, 'base'), records.map(encodeRecord).join(''));
  await syncDirectory(draft);
  try {
    await rename(draft, join(folder, String(generation)));
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!isCode(error, 'EEXIST', 'ENOTEMPTY', 'EPERM')) throw error;
  }
  await syncDirectory(folder);
  const all = await generations(folder);
  for (const old of all.filter((one) => one < Math.max(...all))) {
    const over = join(folder, `${randomUUID()}.over`);
    await rename(join(folder, String(old)), over).catch(() => undefined);
    await rm(over, { recursive: true, force: true });
  }
}
