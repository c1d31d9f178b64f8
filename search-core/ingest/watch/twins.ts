/** Pages that say the same: found in the books by hashes of their words and of their titles. */
import { DISTANCE_MAX } from '../dedupe/near.js';
import { distance, type Fingerprint } from '../dedupe/simhash.js';
import { fingerprintOf, tagOf, wordsOf } from '../gate.js';
import type { Page } from '../page.js';
import type { Known, Print } from './address.js';
import { type Books, hashOf, keyOf } from './books.js';

/** Why a page is that of another address. */
type TwinFault = 'duplicate_url' | 'duplicate_text' | 'near_duplicate';

/** Pages of one title that are compared at the most. */
const TWINS_MAX = 500;

/** What tells a page from others. */
export function printOf(page: Page): Print {
  return { words: hashOf(wordsOf(page.text)), title: tagOf(page), near: fingerprintOf(page) };
}

/**
 * Why a page is that of another address in the index, or undefined. What the web says wins over what
 * an archive says; of two archives the one that is read later.
 */
export function twinOf(
  books: Books,
  known: Known,
  page: string,
  { words, title, near }: Print,
): TwinFault | undefined {
  const key = keyOf(known);
  const pageKey = hashOf(page);
  const owner = books.one(
    `SELECT 1 FROM addresses WHERE page_key = ? AND key <> ? AND outcome = 'indexed'
     AND kind = 'page' LIMIT 1`,
    ...[pageKey, key],
  );
  if (owner !== undefined) return 'duplicate_url';
  // The same page out of another source is no twin of itself.
  const others = "key <> ? AND page_key <> ? AND outcome = 'indexed'";
  const same = books.one(
    `SELECT 1 FROM addresses WHERE words = ? AND ${others} LIMIT 1`,
    ...[words, key, pageKey],
  );
  if (same !== undefined) return 'duplicate_text';
  if (!near) return undefined;
  const sameTitle = books.all(
    `SELECT near_high, near_low FROM addresses WHERE title = ? AND near_high IS NOT NULL AND ${others} LIMIT ?`,
    ...[title, key, pageKey, TWINS_MAX],
  );
  const isNear = sameTitle.some(({ near_high: high, near_low: low }) => {
    const other: Fingerprint = { high: Number(high), low: Number(low) };
    return distance(near, other) <= DISTANCE_MAX;
  });
  return isNear ? 'near_duplicate' : undefined;
}

/** Whether the address was found with these words at the last look. */
export function hasSameWords(books: Books, known: Known, words: bigint): boolean {
  const row = books.one('SELECT words = ? same FROM addresses WHERE key = ?', words, keyOf(known));
  return row?.same === 1;
}

/** Lets pages that said the same as this one be looked at again; returns how many. */
export function wakeDuplicates(books: Books, known: Known, nowSeconds: number): number {
  return books.run(
    `UPDATE addresses SET due = MIN(due, ?) WHERE outcome = 'duplicate'
     AND words = (SELECT words FROM addresses WHERE key = ?)`,
    ...[nowSeconds, keyOf(known)],
  ).changes;
}
