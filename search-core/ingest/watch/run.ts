/** Opens what a watch needs, runs it, and closes it again. */
import { statSync } from 'node:fs';
import { LiveBlocklist, blocklistFile } from '../blocked/blocklist.js';
import { createFetcher, type FetchPorts } from '../crawl/fetch.js';
import { USER_AGENT } from '../crawl/state.js';
import type { ExtractPool } from '../html/pool.js';
import { IngestError } from '../load.js';
import { doAlone } from '../spool.js';
import { enforceBlocklist, findLostPages } from './audit.js';
import { Books } from './books.js';
import { Commits, lastPages, lastStamp, noteStamp } from './commits.js';
import { Folders } from './folders.js';
import type { LivingSink } from './living-sink.js';
import { RobotsCache } from './robots-cache.js';
import { Scope } from './scope.js';
import { nameSources } from './source-books.js';
import { readSources, type Source, type SourceOf } from './sources.js';
import { countBooks, statusFile, writeStatus } from './status.js';
import { Turns } from './turns.js';
import { Watch } from './watch.js';

export interface WatchOptions {
  /** The index directory; books, blocklist and status are beside it. */
  readonly index: string;
  readonly sourcesFile: string;
  /** Ends when nothing is due. */
  readonly isOnce: boolean;
  readonly timeoutMs: number;
  readonly bytesMax: number;
}

export interface WatchPorts extends Omit<FetchPorts, 'userAgent'> {
  /** @param stamp the index's state after the last commit of any run */
  readonly openSink: (stamp: string | undefined) => LivingSink;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
  /** Threads that read pages; whoever made them ends them. */
  readonly pool: ExtractPool;
}

export interface WatchReport {
  readonly looks: number;
  readonly addresses: number;
  readonly indexPages: number;
}

const STATUS_MS = 5_000;
/** Counting may take a hundredth of the time. */
const STATUS_SHARE = 100;
const LOOK_AT_INDEX_MS = 5_000;

/** Keeps the index fresh until the signal. @throws IngestError, LockedError */
export function watchSources(options: WatchOptions, ports: WatchPorts): Promise<WatchReport> {
  return doAlone(`${options.index}.watch`, () => watchAlone(options, ports));
}

async function watchAlone(options: WatchOptions, ports: WatchPorts): Promise<WatchReport> {
  const { index, sourcesFile } = options;
  let sources = readSources(sourcesFile);
  const books = Books.open(`${index}.books.db`);
  const sink = ports.openSink(lastStamp(books));
  const blocklist = new LiveBlocklist(blocklistFile(index));
  const fetcher = createFetcher({
    resolve: ports.resolve,
    isAllowedAddress: (address) => sources.isPrivateAllowed || ports.isAllowedAddress(address),
    userAgent: USER_AGENT,
  });
  const { pool } = ports;
  const state = new Running(options, ports);
  state.indexPages = lastPages(books);
  const turns = new Turns(books, (host) => sources.politenessOf(host));
  const scope = new Scope(books, blocklist, (host, dueSeconds) =>
    turns.note(books.host(host), host, dueSeconds * 1_000),
  );
  const commits = new Commits({
    books,
    sink,
    blocklistFile: blocklistFile(index),
    ...ports,
    beforeCommit: () => {
      turns.save();
      folders.save();
    },
    onCommitted: ({ pages, waitedMs }) => {
      state.indexPages = pages;
      state.waitedMs = waitedMs;
    },
  });
  const folders = new Folders({
    books,
    commits,
    pool,
    signal: ports.signal,
    problem: (name, text) => state.problem(name, text),
  });
  const nowSeconds = (): number => Math.floor(ports.nowMs() / 1_000);
  const named = (): void => {
    state.sources = nameSources(books, sources, nowSeconds());
    scope.use(state.sources);
    scope.addSeeds(sources.commonCrawl, nowSeconds());
    turns.reload();
    commits.note();
  };
  named();
  const limits = { timeoutMs: options.timeoutMs, bytesMax: options.bytesMax };
  const auditing = { books, sink, commits };
  let blocklistSeen: object | undefined;
  const onTick = async (): Promise<void> => {
    if (state.hasChanged(sourcesFile)) {
      state.attempt('sources', () => {
        sources = readSources(sourcesFile);
        named();
      });
    }
    const list = blocklist.now;
    if (list !== blocklistSeen) {
      blocklistSeen = list;
      const unread = list.unread.map((name) => `the blocklist names nothing by "${name}"`);
      state.problem('blocklist', unread.join('; '));
      await enforceBlocklist(auditing, list);
    }
    if (state.isTime('index', LOOK_AT_INDEX_MS) && (await sink.isForeign())) {
      const lost = await findLostPages(auditing, nowSeconds());
      await sink.accept();
      noteStamp(books, sink.stamp);
      if (lost > 0) ports.say(`${lost} pages left the index by another hand: they are due again`);
      turns.reload();
    }
    folders.look(foldersOf(state.sources));
    state.writeStatus(() => countBooks(books, state.sources, nowSeconds()), watch.fetches);
  };
  const watch: Watch = new Watch({
    books,
    scope,
    turns,
    commits,
    robots: new RobotsCache(fetcher, limits, ports.nowMs),
    looking: { fetcher, pool, limits },
    sources: () => sources,
    drop: (reason) => state.turnAway(reason),
    ...ports,
    onTick,
    isOnce: options.isOnce,
    isBusyElsewhere: () => folders.isBusy,
  });
  try {
    await watch.run();
    await folders.end();
    await commits.flush();
    await sink.close();
    noteStamp(books, sink.stamp);
    books.commit();
    books.begin();
    const counts = countBooks(books, state.sources, nowSeconds());
    state.writeStatusNow(counts, watch.fetches);
    return { looks: watch.fetches, addresses: counts.addresses, indexPages: state.indexPages };
  } finally {
    fetcher.close();
    await sink.close();
    books.rollback();
    books.close();
  }
}

function foldersOf(sources: ReadonlyMap<number, Source>): Map<number, SourceOf<'warc' | 'jsonl'>> {
  const folders = new Map<number, SourceOf<'warc' | 'jsonl'>>();
  for (const [id, source] of sources) {
    if (source.kind === 'warc' || source.kind === 'jsonl') folders.set(id, source);
  }
  return folders;
}

/** What changes while a watch runs, beside the books. */
class Running {
  sources: ReadonlyMap<number, Source> = new Map();
  indexPages = 0;
  waitedMs = 0;
  private readonly problems = new Map<string, string>();
  private readonly turnedAway = new Map<string, number>();
  private readonly timesMs = new Map<string, number>();
  private statusMs = STATUS_MS;
  private looks = { count: 0, atMs: 0, perSecond: 0 };
  private fileStamp: string | undefined;

  constructor(
    private readonly options: WatchOptions,
    private readonly ports: Pick<WatchPorts, 'nowMs' | 'say'>,
  ) {
    this.hasChanged(options.sourcesFile);
  }

  hasChanged(file: string): boolean {
    const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
    const stamp = stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs}` : '';
    const isChanged = stamp !== this.fileStamp;
    this.fileStamp = stamp;
    return isChanged;
  }

  /** Does something whose failure the operator mends while the watch goes on as before. */
  attempt(name: string, job: () => void): void {
    try {
      job();
      this.problem(name, '');
    } catch (error) {
      if (!(error instanceof IngestError)) throw error;
      this.problem(name, error.message);
    }
  }

  /** Notes what the operator should mend, and says it once; an empty text says that it is mended. */
  problem(name: string, text: string): void {
    if (this.problems.get(name) === text) return;
    if (text === '') this.problems.delete(name);
    else {
      this.problems.set(name, text);
      this.ports.say(text);
    }
  }

  turnAway(reason: string): void {
    this.turnedAway.set(reason, (this.turnedAway.get(reason) ?? 0) + 1);
  }

  isTime(name: string, everyMs: number): boolean {
    const nowMs = this.ports.nowMs();
    if (nowMs - (this.timesMs.get(name) ?? -Infinity) < everyMs) return false;
    this.timesMs.set(name, nowMs);
    return true;
  }

  writeStatus(count: () => ReturnType<typeof countBooks>, looks: number): void {
    if (!this.isTime('status', this.statusMs)) return;
    const begunMs = performance.now();
    const counts = count();
    this.statusMs = Math.max(STATUS_MS, (performance.now() - begunMs) * STATUS_SHARE);
    this.writeStatusNow(counts, looks);
  }

  writeStatusNow(counts: ReturnType<typeof countBooks>, looks: number): void {
    const atMs = this.ports.nowMs();
    const seconds = (atMs - this.looks.atMs) / 1_000;
    this.looks = { count: looks, atMs, perSecond: (looks - this.looks.count) / seconds };
    writeStatus(statusFile(this.options.index), {
      atMs,
      pid: process.pid,
      indexPages: this.indexPages,
      looks,
      looksPerSecond: Number(this.looks.perSecond.toFixed(1)),
      lastCommitWaitedMs: Math.round(this.waitedMs),
      turnedAway: Object.fromEntries(this.turnedAway),
      problems: [...this.problems.values()],
      ...counts,
    });
  }
}
