import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { openEngine, type OpenSearchSetting, openSearchSetting } from './engines/open.js';
import { blocklistFile, LiveBlocklist } from './ingest/blocked/blocklist.js';
import { filteredEngine } from './ingest/blocked/filtered-engine.js';
import { listenOn, parseListen } from './service/listen.js';
import { type ServiceLog, SearchService } from './service/server.js';

export interface SearchCoreOptions {
  /** `127.0.0.1:4030` (port 0: any free one) or `unix:/path`. */
  readonly listen: string;
  /** The index directory; one that does not exist yet serves no pages and is not ready. */
  readonly indexDir: string;
  /** An OpenSearch index to search instead. */
  readonly openSearch?: OpenSearchSetting | undefined;
  readonly log: ServiceLog;
  /** Worker threads that search; by default one per core. */
  readonly threads?: number;
  /** Searches that may wait or run at once. */
  readonly searchesMax?: number;
  /** Milliseconds for one search before it answers with what it has. */
  readonly deadlineMs?: number;
  /** Postings that one search may read before it answers with what it has. */
  readonly postingsMax?: number;
}

export interface SearchCore {
  readonly url: string;
  /** Stops taking searches, finishes the running ones, lets go of everything. */
  close(): Promise<void>;
}

const DEADLINE_MS = 2_000;
const POSTINGS_MAX = 50_000_000;
const SEARCHES_MAX = 256;

/** Opens the index and serves it. */
export async function startSearchCore(options: SearchCoreOptions): Promise<SearchCore> {
  const { indexDir, threads, log } = options;
  const opened = await openEngine({
    indexDir,
    openSearch: options.openSearch,
    ...(threads !== undefined && { threads }),
    onError: (error) => log.error({ err: error }, 'the engine had a fault in the background'),
  });
  const engine = filteredEngine(opened, new LiveBlocklist(blocklistFile(indexDir)));
  const service = new SearchService({
    engine,
    limits: {
      deadlineMs: options.deadlineMs ?? DEADLINE_MS,
      postingsMax: options.postingsMax ?? POSTINGS_MAX,
    },
    searchesMax: options.searchesMax ?? SEARCHES_MAX,
    log: options.log,
  });
  try {
    const url = await listenOn(service.server, parseListen(options.listen));
    options.log.info({ url, ...(await engine.stats()) }, 'search-core listens');
    const close = async (): Promise<void> => {
      await service.drain();
      await engine.close();
    };
    return { url, close };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

async function main(): Promise<void> {
  const log = pino({ name: 'search-core', level: process.env.LOG_LEVEL ?? 'info' });
  const core = await startSearchCore({
    listen: process.env.SEARCH_CORE_LISTEN ?? '127.0.0.1:4030',
    indexDir: process.env.SEARCH_CORE_INDEX ?? 'data/index',
    openSearch: openSearchSetting(process.env),
    log,
  });
  const stop = (signal: string): void => {
    log.info({ signal }, 'search-core drains');
    core.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'search-core did not stop cleanly');
        process.exit(1);
      },
    );
  };
  process.once('SIGTERM', stop);
  // A terminal's Ctrl-C reaches the child too: its parent decides when to stop it.
  process.on('SIGINT', process.send ? () => undefined : stop);
  // A parent that started this process is told where it listens, and takes it along when it dies.
  process.once('disconnect', () => stop('disconnect'));
  process.send?.({ url: core.url });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
