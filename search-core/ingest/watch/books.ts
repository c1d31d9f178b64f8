/**
 * Every address that is known, what became of it, and when to look again: one SQLite file. A batch
 * is one transaction, committed after its pages are in the index, so a kill at any moment leaves
 * books that know nothing of pages which the index lacks; what was under way is done again.
 */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'libsql';
import { DISTANCE_MAX } from '../dedupe/near.js';
import { distance, type Fingerprint } from '../dedupe/simhash.js';
import type { History } from './schedule.js';
import { SCHEMA } from './schema.js';

/** What stands behind an address. */
export type AddressKind =
  | 'page'
  | 'sitemap'
  | 'feed'
  /** Common Crawl's list of crawls, a piece of its URL index, and one record of an archive. */
  | 'crawls'
  | 'captures'
  | 'record';

export interface NewAddress {
  readonly url: string;
  readonly kind: AddressKind;
  readonly source: number;
  /** Links from the source's own address to here. */
  readonly depth: number;
  /** Redirects that led here. */
  readonly hops: number;
  readonly dueSeconds: number;
}

/** What became of an address at the last look. */
export type Outcome = 'new' | 'indexed' | 'duplicate' | 'dropped' | 'read';

export interface Known extends Omit<NewAddress, 'dueSeconds'> {
  readonly host: number;
  /** Looks in a row that failed for a reason that may pass. */
  readonly tries: number;
  readonly outcome: Outcome;
  /** The page's address in the index, where it is there. */
  readonly page: string | undefined;
  readonly etag: string | undefined;
  readonly modified: string | undefined;
  /** When it was looked at last, 0 for never. */
  readonly checkedSeconds: number;
  readonly history: History;
}

/** What tells a page from others, see `dedupe/`. */
export interface Print {
  /** Of all its words. */
  readonly words: bigint;
  /** Of its title. */
  readonly title: number;
  /** A SimHash, where the text is long enough to have one. */
  readonly near: Fingerprint | undefined;
}

export interface Settlement {
  readonly outcome: Outcome;
  readonly reason: string | undefined;
  readonly page: string | undefined;
  readonly print: Print | undefined;
  readonly etag: string | undefined;
  readonly modified: string | undefined;
  readonly tries: number;
  readonly history: History;
  readonly checkedSeconds: number;
  /** Undefined: never by itself. */
  readonly dueSeconds: number | undefined;
}

export interface HostDue {
  readonly id: number;
  readonly name: string;
  readonly dueSeconds: number;
}

/** Why a page is that of another address. */
export type TwinFault = 'duplicate_url' | 'duplicate_text' | 'near_duplicate';

/** Pages of one title that are compared at the most. */
const TWINS_MAX = 500;

type Row = Readonly<Record<string, string | number | null>>;

/** 64 bits of SHA-256: two of a million addresses are taken for one with a chance of 1 to 10⁷. */
export function hashOf(text: string): bigint {
  return createHash('sha256').update(text).digest().readBigInt64LE();
}

const keyOf = ({ kind, url }: { readonly kind: AddressKind; readonly url: string }): bigint =>
  hashOf(kind === 'page' ? url : `${kind} ${url}`);

const COLUMNS =
  'url, kind, source, host, depth, hops, tries, outcome, page, etag, modified, checked, looks, changes, span';

export class Books {
  private readonly hosts = new Map<string, number>();
  private readonly statements = new Map<string, Database.Statement>();

  private constructor(private readonly database: Database.Database) {
    for (const row of this.all('SELECT id, name FROM hosts')) {
      this.hosts.set(String(row.name), Number(row.id));
    }
  }

  /** Opens the file, which is made when it is missing. `:memory:` for tests. */
  static open(file: string): Books {
    if (file !== ':memory:' && !existsSync(file)) {
      mkdirSync(dirname(file), { recursive: true });
      closeSync(openSync(file, 'a', 0o600));
    }
    const database = new Database(file);
    database.exec(SCHEMA);
    return new Books(database);
  }

  begin(): void {
    this.database.exec('BEGIN IMMEDIATE');
  }

  commit(): void {
    this.database.exec('COMMIT');
  }

  rollback(): void {
    if (this.database.inTransaction) this.database.exec('ROLLBACK');
    this.hosts.clear();
    for (const row of this.all('SELECT id, name FROM hosts')) {
      this.hosts.set(String(row.name), Number(row.id));
    }
  }

  close(): void {
    this.statements.clear();
    this.database.close();
  }

  /** The number of a host, with its port where that is not the usual one. */
  host(name: string): number {
    const known = this.hosts.get(name);
    if (known !== undefined) return known;
    this.run('INSERT INTO hosts (name) VALUES (?)', name);
    const id = Number(this.one('SELECT id FROM hosts WHERE name = ?', name)?.id);
    this.hosts.set(name, id);
    return id;
  }

  /** Adds an address; false when it was known already, of whatever source. */
  add(address: NewAddress): boolean {
    const { url, kind, source, depth, hops, dueSeconds } = address;
    const host = this.host(new URL(url).host);
    const { changes } = this.run(
      'INSERT OR IGNORE INTO addresses (key, url, kind, source, host, depth, hops, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      ...[keyOf(address), url, kind, source, host, depth, hops, dueSeconds],
    );
    return changes > 0;
  }

  find(address: { readonly kind: AddressKind; readonly url: string }): Known | undefined {
    const row = this.one(`SELECT ${COLUMNS} FROM addresses WHERE key = ?`, keyOf(address));
    return row && knownOf(row);
  }

  /** When the next address of each host is due. */
  hostsDue(): HostDue[] {
    return this.all(
      `SELECT id, name, (SELECT MIN(due) FROM addresses WHERE host = hosts.id AND due IS NOT NULL) due
       FROM hosts`,
    ).flatMap(({ id, name, due }) =>
      due === null ? [] : [{ id: Number(id), name: String(name), dueSeconds: Number(due) }],
    );
  }

  /** The addresses of a host that are due longest. */
  due(host: number, nowSeconds: number, count: number): Known[] {
    return this.all(
      `SELECT ${COLUMNS} FROM addresses WHERE host = ? AND due <= ? ORDER BY due LIMIT ?`,
      ...[host, nowSeconds, count],
    ).map(knownOf);
  }

  nextDue(host: number): number | undefined {
    const row = this.one(
      'SELECT MIN(due) due FROM addresses WHERE host = ? AND due IS NOT NULL',
      host,
    );
    return row?.due === null || row?.due === undefined ? undefined : Number(row.due);
  }

  /** Writes down what a look has shown. */
  settle(known: Known, settlement: Settlement): void {
    const { outcome, reason, page, print, etag, modified, tries, history } = settlement;
    const { checkedSeconds, dueSeconds } = settlement;
    this.run(
      `UPDATE addresses SET outcome = ?, reason = ?, page = ?, page_key = ?, words = ?, title = ?,
       near_high = ?, near_low = ?, etag = ?, modified = ?, tries = ?, looks = ?, changes = ?,
       span = ?, checked = ?, due = ? WHERE key = ?`,
      ...[outcome, reason ?? null, page === known.url ? null : (page ?? null)],
      ...[page === undefined ? null : hashOf(page), print?.words ?? null, print?.title ?? null],
      ...[print?.near?.high ?? null, print?.near?.low ?? null, etag ?? null, modified ?? null],
      ...[tries, history.looks, history.changes, history.spanSeconds, checkedSeconds],
      ...[dueSeconds ?? null, keyOf(known)],
    );
  }

  /** Writes down that nothing has changed. */
  touch(
    known: Known,
    at: {
      readonly history: History;
      readonly checkedSeconds: number;
      readonly dueSeconds: number;
    },
  ): void {
    const { looks, changes, spanSeconds } = at.history;
    this.run(
      'UPDATE addresses SET tries = 0, looks = ?, changes = ?, span = ?, checked = ?, due = ? WHERE key = ?',
      ...[looks, changes, spanSeconds, at.checkedSeconds, at.dueSeconds, keyOf(known)],
    );
  }

  /** Writes down a look that failed for a reason that may pass. */
  retry(
    known: Known,
    at: {
      readonly tries: number;
      readonly reason: string;
      readonly dueSeconds: number;
      /** Whether its page has left the index. */
      readonly isOut: boolean;
    },
  ): void {
    this.run(
      'UPDATE addresses SET tries = ?, reason = ?, due = ? WHERE key = ?',
      ...[at.tries, at.reason, at.dueSeconds, keyOf(known)],
    );
    if (at.isOut) this.forgetPage(known);
  }

  /** The index does not hold the page of this address: the next look fetches it whole. */
  forgetPage(address: { readonly kind: AddressKind; readonly url: string }): void {
    this.run(
      `UPDATE addresses SET outcome = 'dropped', page = NULL, page_key = NULL, words = NULL,
       title = NULL, near_high = NULL, near_low = NULL, etag = NULL, modified = NULL WHERE key = ?`,
      keyOf(address),
    );
  }

  /** Forgets an address altogether. */
  remove(address: { readonly kind: AddressKind; readonly url: string }): void {
    this.run('DELETE FROM addresses WHERE key = ?', keyOf(address));
  }

  /** Whether the address was found with these words at the last look. */
  hasSameWords(known: Known, words: bigint): boolean {
    const row = this.one('SELECT words = ? same FROM addresses WHERE key = ?', words, keyOf(known));
    return row?.same === 1;
  }

  /** Lets pages that said the same as this one be looked at again; returns how many. */
  wakeDuplicates(known: Known, nowSeconds: number): number {
    return this.run(
      `UPDATE addresses SET due = MIN(due, ?) WHERE outcome = 'duplicate'
       AND words = (SELECT words FROM addresses WHERE key = ?)`,
      ...[nowSeconds, keyOf(known)],
    ).changes;
  }

  /** Why a page is that of another address in the index, or undefined. */
  twinOf(known: Known, page: string, { words, title, near }: Print): TwinFault | undefined {
    const key = keyOf(known);
    const others = "key <> ? AND outcome = 'indexed'";
    const first = (where: string, value: bigint): boolean =>
      this.one(`SELECT 1 FROM addresses WHERE ${where} = ? AND ${others} LIMIT 1`, value, key) !==
      undefined;
    if (first('page_key', hashOf(page))) return 'duplicate_url';
    if (first('words', words)) return 'duplicate_text';
    if (!near) return undefined;
    const sameTitle = this.all(
      `SELECT near_high, near_low FROM addresses WHERE title = ? AND near_high IS NOT NULL AND ${others} LIMIT ?`,
      ...[title, key, TWINS_MAX],
    );
    const isNear = sameTitle.some(
      ({ near_high: high, near_low: low }) =>
        distance(near, { high: Number(high), low: Number(low) }) <= DISTANCE_MAX,
    );
    return isNear ? 'near_duplicate' : undefined;
  }

  /** Makes an address due at a time, or earlier if it is so already; wholly, not conditionally. */
  hurry(address: { readonly kind: AddressKind; readonly url: string }, dueSeconds: number): void {
    this.run(
      'UPDATE addresses SET due = MIN(IFNULL(due, ?), ?) WHERE key = ?',
      ...[dueSeconds, dueSeconds, keyOf(address)],
    );
  }

  /** Runs any statement on the same connection; for the rooms of the books beside this one. */
  run(sql: string, ...values: readonly unknown[]): { readonly changes: number } {
    return this.statement(sql).run(...values);
  }

  all(sql: string, ...values: readonly unknown[]): readonly Row[] {
    return this.statement(sql).all(...values) as Row[];
  }

  one(sql: string, ...values: readonly unknown[]): Row | undefined {
    return this.statement(sql).get(...values) as Row | undefined;
  }

  private statement(sql: string): Database.Statement {
    const known = this.statements.get(sql) ?? this.database.prepare(sql);
    this.statements.set(sql, known);
    return known;
  }
}

function knownOf(row: Row): Known {
  const text = (name: string): string | undefined =>
    row[name] === null || row[name] === undefined ? undefined : String(row[name]);
  const outcome = String(row.outcome) as Outcome;
  const url = String(row.url);
  return {
    url,
    kind: String(row.kind) as AddressKind,
    source: Number(row.source),
    host: Number(row.host),
    depth: Number(row.depth),
    hops: Number(row.hops),
    tries: Number(row.tries),
    outcome,
    page: outcome === 'indexed' ? (text('page') ?? url) : undefined,
    etag: text('etag'),
    modified: text('modified'),
    checkedSeconds: Number(row.checked),
    history: {
      looks: Number(row.looks),
      changes: Number(row.changes),
      spanSeconds: Number(row.span),
    },
  };
}
