/** What a look means: for the index, for the books, and for the next look. */
import { contentFault } from '../gate.js';
import { takeArchived } from './archived.js';
import type { Batch } from './batch.js';
import type { Known, Outcome, Print } from './address.js';
import { type Books, hashOf } from './books.js';
import type { LookResult } from './look.js';
import { type History, nextInterval, type ScheduleLimits, withLook } from './schedule.js';
import type { Scope } from './scope.js';
import { hasSameWords, printOf, twinOf, wakeDuplicates } from './twins.js';

export interface SettlePorts {
  readonly books: Books;
  readonly batch: Batch;
  readonly scope: Scope;
  readonly schedule: ScheduleLimits;
  /** Told when pages became due that were not before. */
  readonly onWoken: () => void;
  /** Counts an address that was not taken up, or a page that was not. */
  readonly drop: (reason: string, url: string) => void;
}

const HOPS_MAX = 5;
/** Failed looks in a row after which a page leaves the index: about two weeks. */
const TRIES_MAX = 20;
const RETRY_SECONDS_MAX = 24 * 3_600;
/** Addresses of a long list that are taken up before others get their turn. */
const LISTED_AT_ONCE = 2_000;

/** What says that an address is no page for us any more; all else may pass. */
const NO_PAGE = new Set(['robots_disallowed', 'not_html', 'too_large', 'bad_redirect']);

interface Facts {
  readonly outcome: Outcome;
  readonly reason?: string;
  readonly page?: string;
  readonly print?: Print;
  readonly etag?: string | undefined;
  readonly modified?: string | undefined;
}

/** Writes down what a look has shown, and queues what follows from it. */
export function settle(
  asked: Known,
  result: LookResult,
  nowSeconds: number,
  ports: SettlePorts,
): void {
  const { books, drop } = ports;
  // What the books say may have changed since it was asked for: taken down, or lost by the index.
  const known = books.find(asked);
  if (known === undefined) return;
  const write = (facts: Facts, isChanged: boolean): void => {
    const history = historyOf(known, nowSeconds, isChanged);
    const dueSeconds = nowSeconds + Math.max(1, nextInterval(history, ports.schedule));
    if (facts.outcome === 'dropped' && facts.reason !== undefined) drop(facts.reason, known.url);
    books.settle(known, {
      reason: undefined,
      page: undefined,
      print: undefined,
      etag: undefined,
      modified: undefined,
      ...facts,
      tries: 0,
      history,
      checkedSeconds: nowSeconds,
      dueSeconds,
    });
  };
  switch (result.kind) {
    case 'archived': {
      const { page } = result;
      const fault = typeof page === 'string' ? page : takeArchived(known, page, ports);
      if (typeof page === 'string') books.rest(known, page);
      if (fault !== undefined) drop(fault, known.url);
      return;
    }
    case 'page':
      takePage(known, result, nowSeconds, ports, write);
      follow(known, result.links, nowSeconds, ports);
      return;
    case 'unchanged':
      if (known.etag !== asked.etag || known.modified !== asked.modified) return;
      books.touch(known, unchangedAt(known, nowSeconds, ports.schedule));
      return;
    case 'links':
      leave(known, nowSeconds, ports);
      write({ outcome: 'dropped', reason: result.reason }, known.outcome === 'indexed');
      follow(known, result.links, nowSeconds, ports);
      return;
    case 'list': {
      const print = { words: hashOf(result.text), title: 0, near: undefined };
      const isChanged = !hasSameWords(books, known, print.words);
      const { etag, modified } = result;
      write({ outcome: 'read', print, etag, modified }, isChanged);
      return;
    }
    case 'redirect':
      leave(known, nowSeconds, ports);
      write({ outcome: 'dropped', reason: 'redirect' }, known.outcome === 'indexed');
      redirect(known, result.to, nowSeconds, ports);
      return;
    case 'gone':
      leave(known, nowSeconds, ports);
      write({ outcome: 'dropped', reason: 'gone' }, known.outcome === 'indexed');
      return;
    case 'refused':
      // A page that is there and cannot be read now may come back; what robots must not see leaves.
      if (NO_PAGE.has(result.reason) || known.outcome !== 'indexed') {
        leave(known, nowSeconds, ports);
        write({ outcome: 'dropped', reason: result.reason }, known.outcome === 'indexed');
      } else later(known, result.reason, 0, nowSeconds, ports);
      return;
    case 'later':
      later(known, result.reason, result.pauseMs, nowSeconds, ports);
      return;
  }
}

/** Takes up what a list names, a part at a time; `turn` lets others in between. */
export async function takeList(
  known: Known,
  result: Extract<LookResult, { kind: 'list' }>,
  nowSeconds: number,
  ports: SettlePorts,
  turn: () => Promise<void>,
): Promise<void> {
  const { books, scope, drop } = ports;
  for (const [at, { url, kind, changedSeconds }] of result.listed.entries()) {
    if (at % LISTED_AT_ONCE === LISTED_AT_ONCE - 1) await turn();
    const depth = kind === 'page' ? 1 : 0;
    const { source } = known;
    const fault = scope.add({ url, kind, source, depth, hops: 0, dueSeconds: nowSeconds });
    if (fault !== undefined) drop(fault, url);
    else if (changedSeconds !== undefined) {
      const page = books.find({ kind, url });
      const isNews = page !== undefined && page.checkedSeconds < changedSeconds;
      if (isNews && changedSeconds <= nowSeconds) scope.hurry(page, nowSeconds);
    }
  }
}

function takePage(
  known: Known,
  found: Extract<LookResult, { kind: 'page' }>,
  nowSeconds: number,
  { books, batch, drop, onWoken }: SettlePorts,
  write: (facts: Facts, isChanged: boolean) => void,
): void {
  const { page } = found;
  const print = printOf(page);
  const isChanged = !hasSameWords(books, known, print.words);
  const fault = contentFault(page) ?? twinOf(books, known, page.url, print);
  if (isChanged && wakeDuplicates(books, known, nowSeconds) > 0) onWoken();
  const isMoved = known.page !== undefined && known.page !== page.url;
  if (known.page !== undefined && (fault !== undefined || isMoved)) batch.delete(known.page);
  if (fault !== undefined) {
    drop(fault, known.url);
    const isTwin = fault.includes('duplicate');
    // Without validators: where its twin goes, the page has to be fetched whole.
    write({ outcome: isTwin ? 'duplicate' : 'dropped', reason: fault, print }, isChanged);
    return;
  }
  batch.put(page);
  const { etag, modified } = found;
  write({ outcome: 'indexed', page: page.url, print, etag, modified }, isChanged);
}

function follow(
  known: Known,
  links: readonly string[],
  nowSeconds: number,
  { scope, drop }: SettlePorts,
): void {
  if (!scope.followsLinks(known.source)) return;
  const { source } = known;
  const depth = known.depth + 1;
  for (const url of links) {
    const address = { url, kind: 'page', source, depth, hops: 0, dueSeconds: nowSeconds } as const;
    const fault = scope.add(address);
    if (fault !== undefined && fault !== 'other_host') drop(fault, url);
  }
}

function redirect(
  known: Known,
  to: string,
  nowSeconds: number,
  { scope, drop }: SettlePorts,
): void {
  const hops = known.hops + 1;
  if (hops > HOPS_MAX) {
    drop('too_many_redirects', known.url);
    return;
  }
  const { kind, source, depth } = known;
  // A source may live on another host than it was named with: www or not, http or https.
  if (depth === 0) scope.addOwnHost(source, new URL(to).host);
  const fault = scope.add({ url: to, kind, source, depth, hops, dueSeconds: nowSeconds });
  if (fault !== undefined) drop(fault, to);
}

/** The page of this address leaves the index, if it is there; what said the same gets a chance. */
function leave(known: Known, nowSeconds: number, ports: SettlePorts): void {
  if (known.page === undefined) return;
  ports.batch.delete(known.page);
  if (wakeDuplicates(ports.books, known, nowSeconds) > 0) ports.onWoken();
}

/** Tries again, each time later; a page that cannot be had for two weeks leaves. */
function later(
  known: Known,
  reason: string,
  pauseMs: number,
  nowSeconds: number,
  ports: SettlePorts,
): void {
  const tries = known.tries + 1;
  ports.drop(reason, known.url);
  const waitSeconds = Math.min(RETRY_SECONDS_MAX, 5 * 4 ** Math.min(tries, 10));
  const dueSeconds = nowSeconds + Math.max(Math.ceil(pauseMs / 1_000), waitSeconds);
  if (tries >= TRIES_MAX) leave(known, nowSeconds, ports);
  ports.books.retry(known, { tries, reason, dueSeconds, isOut: tries >= TRIES_MAX });
}

function unchangedAt(
  known: Known,
  nowSeconds: number,
  schedule: ScheduleLimits,
): { readonly history: History; readonly checkedSeconds: number; readonly dueSeconds: number } {
  const history = historyOf(known, nowSeconds, false);
  const dueSeconds = nowSeconds + Math.max(1, nextInterval(history, schedule));
  return { history, checkedSeconds: nowSeconds, dueSeconds };
}

/** The first look is no evidence of change. */
function historyOf(known: Known, nowSeconds: number, isChanged: boolean): History {
  if (known.checkedSeconds === 0) return known.history;
  return withLook(known.history, nowSeconds - known.checkedSeconds, isChanged);
}
