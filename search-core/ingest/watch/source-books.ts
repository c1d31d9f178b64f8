import type { Books } from './books.js';
import type { Source, Sources } from './sources.js';

/**
 * Gives each source of the file its number. Addresses of a source that the file does not name any
 * more rest, their pages stay; they are due again when it comes back.
 */
export function nameSources(
  books: Books,
  { sources }: Sources,
  nowSeconds: number,
): Map<number, Source> {
  const rows = books.all('SELECT id, name, named FROM sources');
  const known = new Map(
    rows.map(({ id, name, named }) => [String(name), { id: Number(id), named }]),
  );
  const found = new Map<number, Source>();
  for (const source of sources) {
    const earlier = known.get(source.name);
    if (earlier?.named === 0) {
      books.run('UPDATE sources SET named = 1 WHERE id = ?', earlier.id);
      books.run(
        'UPDATE addresses SET due = ? WHERE source = ? AND due IS NULL',
        nowSeconds,
        earlier.id,
      );
    }
    if (!earlier) books.run('INSERT INTO sources (name) VALUES (?)', source.name);
    const id = earlier?.id ?? books.one('SELECT id FROM sources WHERE name = ?', source.name)?.id;
    found.set(Number(id), source);
  }
  for (const [, { id, named }] of known) {
    if (found.has(id) || named === 0) continue;
    books.run('UPDATE sources SET named = 0 WHERE id = ?', id);
    books.run('UPDATE addresses SET due = NULL WHERE source = ?', id);
  }
  return found;
}
