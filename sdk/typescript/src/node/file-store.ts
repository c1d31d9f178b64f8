import { mkdir, readFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { PaymentError } from '../errors.js';
import type { PaymentRecord } from '../payment/record.js';
import type { PaymentStore, StoreView } from '../payment/store-view.js';
import { putOnce } from './durable.js';
import { LogStore } from './log-store.js';
import { decodeRecords, isCode } from './records.js';
import { loadSqlite, SqliteStore } from './sqlite-store.js';

/** How the records of one path are kept; the first process that opens it decides. */
type Kind = 'sqlite' | 'log';

/**
 * Keeps payments on disk, for any number of processes at once: of all that look for an open
 * payment and record a new one at the same time, one records. SQLite where the runtime has it
 * (Node 22.13 and newer, Bun), a log of files otherwise; both in the folder `PATH.d` (mode 0700,
 * files 0600: they hold signed payments). A file of lines at `PATH`, of an earlier version, is
 * taken over. Not for network file systems.
 */
export class FileStore implements PaymentStore {
  #opened: Promise<PaymentStore> | undefined;

  /**
   * @param path what the folder is named after; it is made when it is missing
   * @param options.prefer how a new store is kept; an existing one stays as it is
   */
  constructor(
    private readonly path: string,
    private readonly options: { readonly prefer?: Kind } = {},
  ) {}

  async update(
    change: (view: StoreView) => PaymentRecord | undefined,
  ): Promise<PaymentRecord | undefined> {
    return await (await this.#store()).update(change);
  }

  async read<T>(look: (view: StoreView) => T): Promise<T> {
    return await (await this.#store()).read(look);
  }

  async list(): Promise<readonly PaymentRecord[]> {
    return await (await this.#store()).list();
  }

  #store(): Promise<PaymentStore> {
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #open(): Promise<PaymentStore> {
    const folder = `${this.path}.d`;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const sqlite = await loadSqlite();
    const preferred = this.options.prefer ?? (sqlite ? 'sqlite' : 'log');
    const kind = await agreeOn(folder, preferred);
    const earlier = () => readEarlier(this.path);
    if (kind === 'log') return await LogStore.open(folder, earlier);
    if (sqlite) return await SqliteStore.open(join(folder, 'payments.sqlite'), sqlite, earlier);
    throw new PaymentError(
      `the payments in ${folder} were kept by a runtime with SQLite; use Node 22.13 or newer, or ` +
        'another path (which knows nothing of them)',
    );
  }
}

/** Two runtimes must not keep two books of one path: whoever comes first decides for both. */
async function agreeOn(folder: string, preferred: Kind): Promise<Kind> {
  const file = join(folder, 'kind');
  const known = async () => (await readFile(file, 'utf8').catch(noFile))?.trim();
  if ((await known()) === undefined) await putOnce(file, `${preferred}\n`, randomUUID());
  const kind = await known();
  if (kind === 'sqlite' || kind === 'log') return kind;
  throw new PaymentError(`${file} names no kind of store that this version knows`);
}

async function readEarlier(path: string): Promise<readonly PaymentRecord[]> {
  const content = await readFile(path, 'utf8').catch(noFile);
  return content === undefined ? [] : [...decodeRecords(content, path).values()];
}

function noFile(error: unknown): undefined {
  if (isCode(error, 'ENOENT')) return undefined;
  throw error;
}
