import { existsSync, mkdirSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { refill, unknownMigrations } from '../../gateway/ground/store/refill.js';
import { StoreNotEmpty, StoreUnusable } from '../../gateway/ground/store/store.js';
import { MIGRATIONS } from '../../gateway/wiring/migrations.js';
import { checkIndex } from '../../search-core/index/check.js';
import { bookParts } from './book-file.js';
import { checkFiles, putBackFile, readBackupFile } from './files.js';
import { BOOKS_FILE, INDEX_FOLDER, type OpenedBackup, SETTINGS_FILE } from './manifest.js';
import { BackupRefused } from './refused.js';
import { checkSettings } from './settings.js';

/** The name of SQLite's file in a data folder. */
export const DATABASE_FILE = 'search402.db';

/** What can be put back alone. */
export const PARTS = ['books', 'index', 'settings', 'chain', 'secrets'] as const;
export type Part = (typeof PARTS)[number];

export const isIn = (parts: ReadonlySet<Part>, name: string): boolean => parts.has(partOf(name));

export function partOf(name: string): Part {
  if (name === BOOKS_FILE) return 'books';
  if (name === SETTINGS_FILE) return 'settings';
  const [folder = ''] = name.split('/');
  return PARTS.find((part) => part === folder) ?? 'secrets';
}

/** What this version cannot read, by name, and what was damaged. @throws BackupRefused */
export async function checkReadable(backup: OpenedBackup, parts: ReadonlySet<Part>): Promise<void> {
  const { manifest } = backup;
  const newer = unknownMigrations(manifest.migrations, MIGRATIONS);
  if (parts.has('books') && newer.length > 0) {
    throw new BackupRefused(
      'newer-books',
      `version ${manifest.version} wrote these books, with ${newer.join(', ')}, which this version does not know: put them back with that version.`,
    );
  }
  await checkFiles(backup);
  if (parts.has('settings') && manifest.files.some(({ name }) => name === SETTINGS_FILE)) {
    checkSettings(await text(readBackupFile(backup, SETTINGS_FILE)));
  }
}

/**
 * Puts the parts into an empty folder, and checks the index. The books become a SQLite file there,
 * whatever database they come from.
 */
export async function putInto(
  backup: OpenedBackup,
  folder: string,
  parts: ReadonlySet<Part>,
): Promise<void> {
  for (const { name } of backup.manifest.files) {
    if (!isIn(parts, name) || name === BOOKS_FILE) continue;
    const place = join(folder, name);
    mkdirSync(join(place, '..'), { recursive: true, mode: 0o700 });
    await putBackFile(backup, name, place);
  }
  const index = join(folder, INDEX_FOLDER);
  if (existsSync(index)) {
    const { ok, problems } = await checkIndex(index);
    if (!ok) {
      throw new BackupRefused('index-damaged', `${problems[0] ?? 'unknown'}: take another backup.`);
    }
  }
  if (parts.has('books')) await putBooks(backup, join(folder, DATABASE_FILE));
}

/** Fills an empty database with the books, all of them or nothing. @throws BackupRefused */
export async function putBooks(backup: OpenedBackup, location: string): Promise<void> {
  try {
    await refill(location, {
      written: backup.manifest.migrations,
      migrations: MIGRATIONS,
      parts: bookParts(backup),
    });
  } catch (error) {
    if (!(error instanceof StoreUnusable)) throw error;
    const fault = error instanceof StoreNotEmpty ? 'not-empty' : 'rule-broken';
    throw new BackupRefused(fault, `${error.message}.`, { cause: error });
  }
}
