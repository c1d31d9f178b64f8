/** `npm run index -- watch`: keeps an index fresh from the sources of one file, until it is stopped. */
import type { Fetcher } from '../crawl/fetch.js';
import { canonicalUrl } from '../url.js';
import type { AddressKind } from './address.js';
import type { Books } from './books.js';
import { look, lookAtArchive, type LookPorts, type LookResult } from './look.js';
import type { RobotsCache } from './robots-cache.js';
import type { Scope } from './scope.js';
import type { Sources } from './sources.js';
import type { Turn, Turns } from './turns.js';
import type { Commits } from './commits.js';
import { settle, type SettlePorts, takeList } from './settle.js';

/** Exchanges at a time, each with another host. */
const LANES = 32;
/** Looked at least so often whether there is something to do. */
const TICK_MS = 1_000;
/** After so many failures in a row a host is left alone, each time twice as long. */
const FAILURES_MAX = 10;
const HOST_PAUSE_MS = 10 * 60_000;
const HOST_PAUSE_MAX_MS = 24 * 3_600_000;

export interface WatchParts {
  readonly books: Books;
  readonly scope: Scope;
  readonly turns: Turns;
  readonly commits: Commits;
  readonly robots: RobotsCache;
  readonly looking: LookPorts & { readonly fetcher: Fetcher };
  readonly sources: () => Sources;
  readonly drop: (reason: string, url: string) => void;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  /** Done every second or so, between two looks: files of sources, folders, the status. */
  readonly onTick: () => Promise<void>;
  /** Ends when nothing is due, instead of waiting. */
  readonly isOnce: boolean;
  /** Whether folders still have something to read. */
  readonly isBusyElsewhere: () => boolean;
}

export class Watch {
  private readonly running = new Set<Promise<void>>();
  private readonly failures = new Map<string, number>();
  private news = new AbortController();
  fetches = 0;

  constructor(private readonly parts: WatchParts) {}

  /** Runs until the signal, or until nothing is due. @throws what cannot be mended by waiting */
  async run(): Promise<void> {
    const { signal, turns, nowMs, commits, isOnce } = this.parts;
    let tickedMs = -Infinity;
    let failure: { readonly error: unknown } | undefined;
    while (!signal.aborted && !failure) {
      if (nowMs() - tickedMs >= TICK_MS) {
        tickedMs = nowMs();
        await this.parts.onTick();
      }
      await commits.flushIfDue();
      const next = this.running.size < LANES ? turns.take(nowMs()) : { waitMs: TICK_MS };
      if ('known' in next) {
        const job = this.handle(next).catch((error: unknown) => {
          failure = { error };
        });
        const done = job.finally(() => {
          this.running.delete(done);
          this.news.abort();
        });
        this.running.add(done);
        continue;
      }
      const isIdle = this.running.size === 0 && !this.parts.isBusyElsewhere();
      if (isOnce && isIdle && next.waitMs > TICK_MS) {
        if (commits.isEmpty) break;
        await commits.flush();
        continue;
      }
      await this.wait(Math.min(next.waitMs, TICK_MS));
    }
    // What is under way is asked for again by the next run: a stop waits for nobody.
    if (signal.aborted) this.parts.looking.fetcher.close();
    await Promise.all(this.running);
    if (failure) throw failure.error;
    await commits.flush();
  }

  /** Until the time is over or a look has ended. */
  private async wait(ms: number): Promise<void> {
    this.news = new AbortController();
    await this.parts.sleep(ms, AbortSignal.any([this.parts.signal, this.news.signal]));
  }

  private async handle(turn: Turn): Promise<void> {
    const { known } = turn;
    const { turns, nowMs, commits, scope } = this.parts;
    if (scope.source(known.source) === undefined) {
      turns.finish(turn, 0);
      turns.settled(turn);
      return;
    }
    this.fetches += 1;
    const { result, delayMs } = await this.lookAt(turn);
    if (this.parts.signal.aborted) return;
    const pauseMs = result.kind === 'later' ? result.pauseMs : 0;
    const hostPauseMs = this.pauseOf(turn.hostName, result);
    turns.finish(turn, nowMs() + Math.max(delayMs, pauseMs, hostPauseMs));
    await commits.turn();
    const nowSeconds = Math.floor(nowMs() / 1_000);
    if (result.kind === 'list') {
      await takeList(known, result, nowSeconds, this.settling(), () => commits.turn());
    }
    settle(known, result, nowSeconds, this.settling());
    commits.note();
    turns.settled(turn);
    const due = this.parts.books.nextDue(known.host);
    if (due !== undefined) turns.note(known.host, turn.hostName, due * 1_000);
  }

  private settling(): SettlePorts {
    const { books, scope, commits, drop, sources, turns } = this.parts;
    const { batch } = commits;
    const onWoken = (): void => turns.reload();
    return { books, scope, batch, drop, onWoken, schedule: sources().schedule };
  }

  private async lookAt({ known, hostName }: Turn): Promise<{
    readonly result: LookResult;
    readonly delayMs: number;
  }> {
    const { looking, sources, robots: cache } = this.parts;
    const source = this.parts.scope.source(known.source);
    if (source?.kind === 'common-crawl') {
      // An interface for programs that the operator named: robots.txt is about pages.
      const { commonCrawl, politenessOf } = sources();
      const result = await lookAtArchive(known, source, commonCrawl, looking);
      return { result, delayMs: politenessOf(hostName).delayMs };
    }
    const { origin, pathname, search } = new URL(known.url);
    const { robots: asked, isFresh } = cache.of(origin);
    const robots = await asked;
    const delayMs = Math.max(sources().politenessOf(hostName).delayMs, robots.delayMs ?? 0);
    if (isFresh) this.takeSitemaps(known, origin, robots.sitemaps);
    if (robots.allows(pathname + search)) return { result: await look(known, looking), delayMs };
    const { reason } = robots;
    const isRule = reason === 'robots_disallowed';
    const result: LookResult = isRule
      ? { kind: 'refused', reason }
      : { kind: 'later', reason, pauseMs: 0 };
    return { result, delayMs };
  }

  /** The sitemaps of a site's hosts tell of pages that no link leads to. */
  private takeSitemaps(
    { source }: { readonly source: number },
    origin: string,
    sitemaps: readonly string[],
  ): void {
    const { scope, nowMs } = this.parts;
    if (!scope.followsLinks(source)) return;
    const kind: AddressKind = 'sitemap';
    const dueSeconds = Math.floor(nowMs() / 1_000);
    for (const text of sitemaps.length > 0 ? sitemaps.slice(0, 50) : ['/sitemap.xml']) {
      const url = canonicalUrl(text, origin);
      if (url !== undefined) scope.add({ url, kind, source, depth: 0, hops: 0, dueSeconds });
    }
  }

  /** A host that keeps failing is left alone: its addresses would only cost their timeouts. */
  private pauseOf(host: string, result: LookResult): number {
    const isFailure =
      result.kind === 'later' || (result.kind === 'refused' && result.reason === 'timeout');
    if (!isFailure) {
      this.failures.delete(host);
      return 0;
    }
    const failures = (this.failures.get(host) ?? 0) + 1;
    this.failures.set(host, failures);
    const over = failures - FAILURES_MAX;
    return over < 0 ? 0 : Math.min(HOST_PAUSE_MAX_MS, HOST_PAUSE_MS * 2 ** Math.min(over, 20));
  }
}
