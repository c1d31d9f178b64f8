/**
 * Every address that is known, what became of it, and when to look again: one SQLite file. A batch
 * is one transaction, committed after its pages are in the index, so a kill at any moment leaves
 * books that know nothing of pages which the index lacks; what was under way is done again.
 */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'libsql';
import type { AddressKind, Known, NewAddress, Outcome, Settlement } from './address.js';
import type { History } from './schedule.js';
import { SCHEMA } from './schema.js';

export interface HostDue {
  readonly id: number;
  readonly name: string;
  readonly dueSeconds: number;
}

type Row = Readonly<Record<string, string | number | null>>;

/** 64 bits of SHA-256: two of a million addresses are taken for one with a chance of 1 to 10⁷. */
export function hashOf(text: string): bigint {
  return createHash('sha256').update(text).digest().readBigInt64LE();
}

/** Addresses of one URL and different kinds are different ones. */
export const keyOf = ({
  kind,
  url,
}: {
  readonly kind: AddressKind;
  readonly url: string;
}): bigint => hashOf(kind === 'page' ? url : `${kind} ${url}`);

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

  /** An address that is not looked at again by itself. */
  rest(address: { readonly kind: AddressKind; readonly url: string }, reason: string): void {
    this.run(
      "UPDATE addresses SET outcome = 'dropped', reason = ?, due = NULL WHERE key = ?",
      ...[reason, keyOf(address)],
    );
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
