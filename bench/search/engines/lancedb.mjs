// LanceDB's full-text index (bench/package.json; needs Node 22). One column: title and text.
import { plainWords } from '../corpus.mjs';

export const name = 'LanceDB';
const PAGES_PER_BATCH = 5_000;

export async function build(directory, pages) {
  const lancedb = await import('@lancedb/lancedb');
  const db = await lancedb.connect(directory);
  let table;
  let batch = [];
  const flush = async () => {
    if (batch.length === 0) return;
    if (table) await table.add(batch);
    else table = await db.createTable('pages', batch);
    batch = [];
  };
  for await (const { url, title, text } of pages) {
    batch.push({ url, title, text, all: `${title}\n${text}` });
    if (batch.length === PAGES_PER_BATCH) await flush();
  }
  await flush();
  await table.createIndex('all', {
    config: lancedb.Index.fts({
      withPosition: true,
      stem: false,
      removeStopWords: false,
      asciiFolding: true,
    }),
  });
  await table.optimize();
}

export async function open(directory) {
  const lancedb = await import('@lancedb/lancedb');
  const db = await lancedb.connect(directory);
  const table = await db.openTable('pages');
  const query = (q) => {
    const words = plainWords(q).join(' ');
    return q.startsWith('"')
      ? new lancedb.PhraseQuery(words, 'all')
      : new lancedb.MatchQuery(words, 'all');
  };
  return {
    top10: (q) =>
      table
        .query()
        .fullTextSearch(query(q))
        .select(['url', 'title', 'text', '_score'])
        .limit(10)
        .toArray(),
    close: () => table.close(),
  };
}
