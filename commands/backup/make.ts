import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { openBookSource } from '../../gateway/ground/store/book-source.js';
import { unknownMigrations } from '../../gateway/ground/store/refill.js';
import { ownVersion } from '../../gateway/ground/version.js';
import { readConfig } from '../../gateway/wiring/config.js';
import { MIGRATIONS } from '../../gateway/wiring/migrations.js';
import { bookFile } from './book-file.js';
import { checkChain, checkRules, openRestored } from './checks.js';
import { syncFolder, writeBackupFile } from './files.js';
import { copyIndex } from './index-files.js';
import {
  BOOKS_FILE,
  CHAIN_FOLDER,
  type Manifest,
  MANIFEST_FILE,
  manifestText,
  openBackup,
  SECRETS_FOLDER,
  SETTINGS_FILE,
  UNFINISHED,
} from './manifest.js';
import { checkReadable, DATABASE_FILE, PARTS, putInto } from './put-back.js';
import { BackupRefused } from './refused.js';
import { type BackupKeys, type KeySource, newKeys } from './secrecy.js';
import { secretFiles, settingsText } from './settings.js';

export interface MakeOptions {
  /** Where backups lie, each in a folder of its own. */
  readonly into: string;
  readonly source: KeySource | undefined;
  readonly withSecrets: boolean;
  readonly withIndex: boolean;
  /** Compares the copy with the chain that the settings name. */
  readonly withChain: boolean;
}

/** A backup that was made, put back elsewhere, and checked. */
export interface Made {
  readonly folder: string;
  readonly manifest: Manifest;
  readonly bytes: number;
  /** Settled payments of the last day that the chain has, too; absent where it was not asked. */
  readonly matched?: number;
  /** What the operator should know. */
  readonly notes: readonly string[];
}

const DEV_FILES = ['chain/state.json', 'dev.json'] as const;

/** Makes a backup beside the running gateway. Its folder gets its name once it is whole. */
export async function makeBackup(
  environment: NodeJS.ProcessEnv,
  options: MakeOptions,
): Promise<Made> {
  const { into, source, withSecrets } = options;
  if (withSecrets && !source) {
    throw new BackupRefused(
      'needs-key',
      'secrets are never copied in clear: add --passphrase-file or --key-file, or leave out --with-secrets.',
    );
  }
  const keys = source && newKeys(source);
  mkdirSync(into, { recursive: true, mode: 0o700 });
  const madeAt = new Date();
  const name = `search402-${madeAt.toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
  const folder = join(into, name);
  const unfinished = `${folder}${UNFINISHED}`;
  if (existsSync(folder)) throw new BackupRefused('not-empty', `${folder} is there already.`);
  mkdirSync(unfinished, { mode: 0o700 });
  try {
    const { manifest, notes } = await write(unfinished, environment, { ...options, keys, madeAt });
    const checked = await verify(unfinished, into, options);
    renameSync(unfinished, folder);
    syncFolder(into);
    const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
    return { folder, manifest, bytes, ...checked, notes: [...notes, ...checked.notes] };
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    throw error;
  }
}

async function write(
  folder: string,
  environment: NodeJS.ProcessEnv,
  given: MakeOptions & { readonly keys: BackupKeys | undefined; readonly madeAt: Date },
): Promise<{ manifest: Manifest; notes: string[] }> {
  const { keys, madeAt, withSecrets } = given;
  const config = readConfig(environment, []);
  const { DATA_DIR, DATABASE_URL, searchCoreUrls } = config;
  const notes: string[] = [];
  const source = await openBookSource(DATABASE_URL ?? join(DATA_DIR, DATABASE_FILE));
  const files: Manifest['files'] = [];
  const { counts, content } = bookFile(source);
  try {
    const newer = unknownMigrations(source.migrations, MIGRATIONS);
    if (newer.length > 0) {
      const said = `a newer version wrote these books (they have ${newer.join(', ')})`;
      throw new BackupRefused('newer-books', `${said}: back them up with that version.`);
    }
    files.push(await writeBackupFile(folder, BOOKS_FILE, content, keys));
  } finally {
    await source.close();
  }
  const add = async (file: string, bytes: Readable) => {
    files.push(await writeBackupFile(folder, file, bytes, keys));
  };
  const settings = settingsText(environment, { withSecrets });
  await add(SETTINGS_FILE, Readable.from([Buffer.from(settings)]));

  const indexDir = join(DATA_DIR, 'index');
  let index: Manifest['index'];
  if (!given.withIndex) notes.push('The index was left out.');
  else if (searchCoreUrls.length > 0) {
    notes.push('The index lies where search-core runs: back it up there.');
  } else if (existsSync(indexDir)) {
    const copied = await copyIndex(indexDir, folder, keys);
    files.push(...copied.files);
    index = copied.index;
  }
  if (config.chain.kind === 'development') {
    for (const file of DEV_FILES) {
      const place = join(DATA_DIR, file);
      const part = `${CHAIN_FOLDER}/${file.replace('chain/', '')}`;
      if (existsSync(place)) await add(part, createReadStream(place));
    }
  }
  const secrets = secretFiles(environment, DATA_DIR);
  if (withSecrets) {
    for (const { name, place } of secrets) {
      await add(`${SECRETS_FOLDER}/${name}`, createReadStream(place));
    }
  } else {
    const named = secrets.map(({ place }) => place).join(', ');
    if (named !== '') notes.push(`Not in the backup: ${named}. Keep a copy elsewhere.`);
  }
  const manifest: Manifest = {
    format: 1,
    madeAt: madeAt.toISOString(),
    version: ownVersion(),
    engine: source.engine,
    migrations: [...source.migrations],
    tables: counts,
    ...(index && { index }),
    files,
    ...(keys && { lock: keys.lock }),
  };
  const text = manifestText(manifest, keys);
  writeFileSync(join(folder, MANIFEST_FILE), text, { mode: 0o600, flush: true });
  syncFolder(folder);
  return { manifest, notes };
}

export interface Checked {
  readonly matched?: number;
  readonly notes: readonly string[];
}

/** Puts a backup back into a folder that goes again, and checks what must hold of it. */
export async function verify(
  folder: string,
  beside: string,
  { source, withChain }: Pick<MakeOptions, 'source' | 'withChain'>,
): Promise<Checked> {
  const backup = openBackup(folder, source);
  const parts = new Set(PARTS);
  await checkReadable(backup, parts);
  const trial = mkdtempSync(join(beside, '.verifying-'));
  try {
    await putInto(backup, trial, parts);
    const store = await openRestored(join(trial, DATABASE_FILE));
    try {
      await checkRules(store);
      if (!withChain) return { notes: ['It was not compared with the chain.'] };
      const found = await checkChain(store).catch((error: unknown) => {
        if (error instanceof BackupRefused) throw error;
        return error instanceof Error ? error : new Error(String(error));
      });
      if (found instanceof Error) {
        return { notes: [`It could not be compared with the chain: ${found.message}`] };
      }
      return { matched: found?.matched.count ?? 0, notes: [] };
    } finally {
      await store.close();
    }
  } finally {
    rmSync(trial, { recursive: true, force: true });
  }
}

export const folderOf = (backup: string) => dirname(backup.replace(/\/+$/, ''));
