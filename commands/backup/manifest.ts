import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { BackupRefused } from './refused.js';
import { type BackupKeys, isSameSeal, type KeySource, keysOf, lockSchema } from './secrecy.js';

/** The list of what a backup holds: written last, so that a backup with it is whole. */
export const MANIFEST_FILE = 'backup.json';
/** A folder that is still being written ends with this. */
export const UNFINISHED = '.unfinished';
export const BOOKS_FILE = 'books.jsonl.gz';
export const SETTINGS_FILE = 'settings.env';
export const INDEX_FOLDER = 'index';
export const CHAIN_FOLDER = 'chain';
export const SECRETS_FOLDER = 'secrets';

/** A file's path below the backup: no step leads out of it. */
const path = z.string().regex(/^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)?[A-Za-z0-9_-][A-Za-z0-9._-]*$/);

const schema = z.strictObject({
  format: z.literal(1),
  /** When its books were read, ISO 8601. */
  madeAt: z.string(),
  /** The program that made it. */
  version: z.string(),
  engine: z.enum(['sqlite', 'postgres']),
  /** The schema that its rows were written under. */
  migrations: z.array(z.string()).min(1),
  /** Rows of each table. */
  tables: z.record(z.string(), z.int().min(0)),
  /** Absent when it has no index. */
  index: z.strictObject({ generation: z.int(), pages: z.int() }).optional(),
  files: z.array(
    z.strictObject({ name: path, bytes: z.int().min(0), sha256: z.string().length(64) }),
  ),
  lock: lockSchema.optional(),
});

export type Manifest = z.infer<typeof schema>;
export type ManifestFile = Manifest['files'][number];

/** What a backup says of itself, and the keys to its files where it is encrypted. */
export interface OpenedBackup {
  readonly folder: string;
  readonly manifest: Manifest;
  readonly keys: BackupKeys | undefined;
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex');

/** The list and a seal over it: a checksum, or a proof of the key where there is one. */
export function manifestText(manifest: Manifest, keys: BackupKeys | undefined): string {
  const text = JSON.stringify(manifest);
  const seal = keys ? keys.seal(text) : digest(text);
  return `${JSON.stringify({ seal, manifest }, null, 1)}\n`;
}

/** Opens a backup, without a look at its files. @throws BackupRefused */
export function openBackup(folder: string, source: KeySource | undefined): OpenedBackup {
  const given = readManifest(folder);
  const { seal, manifest: raw } = given;
  const { format } = raw as { format?: unknown };
  if (typeof format === 'number' && format > 1) {
    const said = `it has format ${format}, and this version reads format 1`;
    throw new BackupRefused(
      'newer-backup',
      `${said}. Use the version that made it, or a newer one.`,
    );
  }
  const parsed = schema.safeParse(raw);
  if (!parsed.success) throw damagedList(folder);
  const manifest = parsed.data;
  const { lock } = manifest;
  if (lock && !source) {
    const option = lock.kind === 'key-file' ? '--key-file' : '--passphrase-file';
    throw new BackupRefused('needs-key', `this backup is encrypted: open it with ${option} FILE.`);
  }
  const keys = lock && source && keysOf(source, lock);
  const text = JSON.stringify(raw);
  if (isSameSeal(seal, keys ? keys.seal(text) : digest(text))) return { folder, manifest, keys };
  if (!keys) throw damagedList(folder);
  throw new BackupRefused(
    'wrong-key',
    `the key does not fit this backup, or somebody changed ${MANIFEST_FILE}.`,
  );
}

function readManifest(folder: string): { seal: string; manifest: object } {
  const file = join(folder, MANIFEST_FILE);
  if (!existsSync(file)) {
    const isBegun = folder.replace(/\/+$/, '').endsWith(UNFINISHED);
    throw isBegun
      ? new BackupRefused('not-finished', `${folder} was never finished: take an older one.`)
      : new BackupRefused('not-a-backup', `there is no ${MANIFEST_FILE} in ${folder}.`);
  }
  try {
    const given = JSON.parse(readFileSync(file, 'utf8')) as unknown;
    return z.strictObject({ seal: z.string(), manifest: z.looseObject({}) }).parse(given);
  } catch {
    throw damagedList(folder);
  }
}

const damagedList = (folder: string) =>
  new BackupRefused('damaged', `${join(folder, MANIFEST_FILE)} is damaged: take another backup.`);
