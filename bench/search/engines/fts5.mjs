// SQLite FTS5 through libsql: two columns, bm25 with the title weighed like this project's.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { plainWords } from '../corpus.mjs';

export const name = 'SQLite FTS5';
const PAGES_PER_TRANSACTION = 5_000;

export async function build(directory, pages) {
  mkdirSync(directory, { recursive: true });
  const db = new Database(join(directory, 'pages.db'));
  db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;');
  db.exec(
    `CREATE VIRTUAL TABLE pages USING fts5(title, body, url UNINDEXED,
       tokenize = "unicode61 remove_diacritics 2")`,
  );
  const insert = db.prepare('INSERT INTO pages (title, body, url) VALUES (?, ?, ?)');
  let count = 0;
  db.exec('BEGIN');
  for await (const { title, text, url } of pages) {
    insert.run(title, text, url);
    if (++count % PAGES_PER_TRANSACTION === 0) db.exec('COMMIT; BEGIN');
  }
  db.exec('COMMIT');
  db.exec("INSERT INTO pages (pages) VALUES ('optimize')");
  db.close();
}

export async function open(directory) {
  if (!existsSync(join(directory, 'pages.db'))) throw new Error('not built');
  const db = new Database(join(directory, 'pages.db'));
  db.exec('PRAGMA mmap_size = 4000000000');
  const select = db.prepare(
    `SELECT url, title, body AS text FROM pages WHERE pages MATCH ?
       ORDER BY bm25(pages, 3.0, 1.0) LIMIT 10`,
  );
  const expression = (q) => {
    const words = plainWords(q).map((word) => `"${word}"`);
    return q.startsWith('"') ? `"${plainWords(q).join(' ')}"` : words.join(' OR ');
  };
  return {
    top10: (q) => select.all(expression(q)),
    close: () => db.close(),
  };
}
