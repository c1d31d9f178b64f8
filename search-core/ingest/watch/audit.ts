/** Holds the books to the index where somebody else has changed it, and both to the blocklist. */
import type { Blocklist } from '../blocked/blocklist.js';
import type { AddressKind } from './address.js';
import type { Books } from './books.js';
import type { Commits } from './commits.js';
import type { LivingSink } from './living-sink.js';

/** Addresses that are looked at before others get their turn. */
const PART = 1_000;

interface AuditPorts {
  readonly books: Books;
  readonly sink: LivingSink;
  readonly commits: Commits;
}

/**
 * Finds pages that left the index without the books' knowledge (another load replaced it, somebody
 * deleted them) and makes them due now. Returns how many.
 */
export async function findLostPages(
  { books, sink, commits }: AuditPorts,
  nowSeconds: number,
): Promise<number> {
  let lost = 0;
  for await (const rows of parts(books, "WHERE outcome = 'indexed'", commits)) {
    const pageOf = (row: AddressRow): string => row.page ?? row.url;
    const held = await sink.held(rows.map(pageOf));
    await commits.turn();
    for (const row of rows) {
      if (held.has(pageOf(row)) || commits.batch.has(pageOf(row))) continue;
      books.forgetPage(row);
      books.hurry(row, nowSeconds);
      commits.note();
      lost += 1;
    }
  }
  return lost;
}

/** Takes what the blocklist names out of the books and out of the index. Returns how many pages. */
export async function enforceBlocklist(
  { books, sink, commits }: AuditPorts,
  blocklist: Blocklist,
): Promise<number> {
  if (blocklist.size === 0) return 0;
  for await (const rows of parts(books, '', commits)) {
    for (const row of rows) {
      if (!blocklist.blocks(row.url) && !(row.page && blocklist.blocks(row.page))) continue;
      books.remove(row);
      commits.note();
    }
  }
  let pages = 0;
  for await (const url of sink.addresses()) {
    if (!blocklist.blocks(url)) continue;
    await commits.turn();
    commits.batch.delete(url);
    commits.note();
    pages += 1;
  }
  return pages;
}

interface AddressRow {
  readonly kind: AddressKind;
  readonly url: string;
  readonly page: string | undefined;
}

async function* parts(
  books: Books,
  where: string,
  commits: Commits,
): AsyncIterable<readonly AddressRow[]> {
  const and = where === '' ? 'WHERE' : `${where} AND`;
  for (let after = '-9223372036854775808'; ;) {
    await commits.turn();
    // A key is more than a JavaScript number holds, so it travels as text.
    const rows = books.all(
      `SELECT CAST(key AS TEXT) key, kind, url, page FROM addresses
       ${and} key > CAST(? AS INTEGER) ORDER BY addresses.key LIMIT ?`,
      ...[after, PART],
    );
    const last = rows.at(-1);
    if (!last) return;
    after = String(last.key);
    yield rows.map(({ kind, url, page }) => ({
      kind: String(kind) as AddressKind,
      url: String(url),
      page: page === null ? undefined : String(page),
    }));
  }
}
