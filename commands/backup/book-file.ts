import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import type { BookRow, BookSource } from '../../gateway/ground/store/book-rows.js';
import type { BookPart } from '../../gateway/ground/store/refill.js';
import { readBackupFile } from './files.js';
import { BOOKS_FILE, type OpenedBackup } from './manifest.js';
import { BackupRefused } from './refused.js';

/** Rows that go to the database together. */
const PART_ROWS = 500;
/** Text that is compressed together: a row alone would cost a call for each. */
const CHUNK_LENGTH = 64 * 1024;

/** All rows as lines of JSON, compressed; `counts` has the rows of each table once it was read. */
export function bookFile(source: BookSource): {
  readonly content: Readable;
  readonly counts: Record<string, number>;
} {
  const counts: Record<string, number> = {};
  const lines = Readable.from(linesOf(source, counts), { objectMode: false });
  const gzip = createGzip({ level: 6 });
  lines.on('error', (error) => gzip.destroy(error));
  return { content: lines.pipe(gzip), counts };
}

async function* linesOf(
  source: BookSource,
  counts: Record<string, number>,
): AsyncGenerator<Buffer> {
  let text = '';
  for (const table of source.tables) {
    const columns = table.columns.map(({ name }) => name);
    let rows = 0;
    text += `${JSON.stringify({ table: table.name, columns })}\n`;
    for await (const row of source.rows(table)) {
      text += `${JSON.stringify(row)}\n`;
      rows += 1;
      if (text.length < CHUNK_LENGTH) continue;
      yield Buffer.from(text);
      text = '';
    }
    counts[table.name] = rows;
  }
  yield Buffer.from(text);
}

/** The rows of a backup. @throws BackupRefused when they are not as many as the list says. */
export async function* bookParts(backup: OpenedBackup): AsyncGenerator<BookPart> {
  const content = readBackupFile(backup, BOOKS_FILE);
  const plain = createGunzip();
  content.on('error', (error) => plain.destroy(error));
  const lines = createInterface({ input: content.pipe(plain), crlfDelay: Infinity });
  const left = new Map(Object.entries(backup.manifest.tables));
  let part: { table: string; columns: string[]; rows: BookRow[] } | undefined;
  for await (const line of lines) {
    const value = JSON.parse(line) as { table: string; columns: string[] } | BookRow;
    if (!Array.isArray(value)) {
      if (part) yield part;
      part = { ...(value as { table: string; columns: string[] }), rows: [] };
      continue;
    }
    if (!part) throw miscounted('the books');
    part.rows.push(value as BookRow);
    left.set(part.table, (left.get(part.table) ?? 0) - 1);
    if (part.rows.length < PART_ROWS) continue;
    yield part;
    part = { ...part, rows: [] };
  }
  if (part) yield part;
  for (const [table, count] of left) if (count !== 0) throw miscounted(table);
}

const miscounted = (what: string) =>
  new BackupRefused('damaged', `${what}: other rows than the list of the backup says.`);
