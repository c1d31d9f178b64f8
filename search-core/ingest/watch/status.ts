/** What the watch tells about itself: a small JSON file, replaced in one rename. */
import { renameSync, writeFileSync } from 'node:fs';
import type { Books } from './books.js';
import type { Source } from './sources.js';

/** Where the status of an index's watch is. */
export const statusFile = (index: string): string => `${index}.watch.json`;

interface SourceStatus {
  readonly name: string;
  readonly addresses: number;
  readonly indexed: number;
  readonly neverLookedAt: number;
  /** Addresses whose time has come. */
  readonly overdue: number;
  /** Seconds since 1970 of the last look. */
  readonly lastLook: number;
}

export interface WatchStatus {
  /** Milliseconds since 1970 when this was written. */
  readonly atMs: number;
  readonly pid: number;
  readonly addresses: number;
  /** Pages of the whole index after the last commit. */
  readonly indexPages: number;
  readonly looks: number;
  readonly looksPerSecond: number;
  /** Milliseconds that the oldest change waited until it could be found, at the last commit. */
  readonly lastCommitWaitedMs: number;
  readonly sources: readonly SourceStatus[];
  /** What stands in the books, by outcome and reason. */
  readonly outcomes: readonly {
    readonly outcome: string;
    readonly reason: string | null;
    readonly count: number;
    readonly example: string;
  }[];
  /** Addresses that were not taken up since the start. */
  readonly turnedAway: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

/** Counts from the books; a scan of all addresses, about a fifth of a second for a million. */
export function countBooks(
  books: Books,
  sources: ReadonlyMap<number, Source>,
  nowSeconds: number,
): Pick<WatchStatus, 'addresses' | 'sources' | 'outcomes'> {
  const bySource = new Map<number, SourceStatus>();
  for (const row of books.all(
    `SELECT source, COUNT(*) addresses, SUM(outcome = 'indexed') in_index, SUM(outcome = 'new') fresh,
     SUM(due IS NOT NULL AND due <= ?) overdue, MAX(checked) checked FROM addresses GROUP BY source`,
    nowSeconds,
  )) {
    bySource.set(Number(row.source), {
      name: '',
      addresses: Number(row.addresses),
      indexed: Number(row.in_index),
      neverLookedAt: Number(row.fresh),
      overdue: Number(row.overdue),
      lastLook: Number(row.checked),
    });
  }
  const none = { addresses: 0, indexed: 0, neverLookedAt: 0, overdue: 0, lastLook: 0 };
  const named = [...sources].map(([id, { name }]) => ({ ...(bySource.get(id) ?? none), name }));
  const outcomes = books
    .all(
      `SELECT outcome, reason, COUNT(*) count, MIN(url) example FROM addresses
       GROUP BY outcome, reason ORDER BY count DESC`,
    )
    .map(({ outcome, reason, count, example }) => ({
      outcome: String(outcome),
      reason: reason === null || reason === undefined ? null : String(reason),
      count: Number(count),
      example: String(example),
    }));
  const addresses = [...bySource.values()].reduce((sum, one) => sum + one.addresses, 0);
  return { addresses, sources: named, outcomes };
}

export function writeStatus(file: string, status: WatchStatus): void {
  writeFileSync(`${file}.next`, JSON.stringify(status), { mode: 0o600 });
  renameSync(`${file}.next`, file);
}
