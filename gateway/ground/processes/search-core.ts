import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Clock, Log } from '../domain/ports.js';

export interface SearchCoreProcess {
  readonly url: string;
  /** Whether the process is running now; it is started again when it dies. */
  isRunning(): boolean;
  stop(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL('../../../search-core/main.js', import.meta.url));
const READY_TIMEOUT_MS = 60_000;
const RESTART_DELAYS_MS = [100, 500, 2_000, 10_000];
const STOP_TIMEOUT_MS = 10_000;
/** A process that ran this long starts over with the shortest delay when it dies. */
const STEADY_MS = 60_000;

/**
 * Runs search-core as a process of its own on a loopback port, and starts it again on the same
 * port when it dies, a little later each time.
 * @throws when it does not come up the first time.
 */
export async function startSearchCoreProcess(options: {
  indexDir: string;
  logLevel: string;
  clock: Clock;
  log: Log;
}): Promise<SearchCoreProcess> {
  const { clock, log } = options;
  const stopping = new AbortController();
  const isStopping = () => stopping.signal.aborted;
  let child = await launch('127.0.0.1:0', options);
  const { url } = child;

  const supervise = async () => {
    for (let deaths = 0; ; deaths += 1) {
      const started = clock.monotonicMs();
      const exit = await child.exited;
      if (isStopping()) return;
      if (clock.monotonicMs() - started > STEADY_MS) deaths = 0;
      log.error({ exit }, 'search-core died; starting it again');
      await clock.sleep(RESTART_DELAYS_MS[deaths] ?? 10_000, stopping.signal);
      if (isStopping()) return;
      child = await launch(new URL(url).host, options).catch((error: unknown) => {
        log.error({ err: error }, 'search-core did not come up');
        return { ...child, exited: Promise.resolve('did not come up'), isRunning: () => false };
      });
    }
  };
  const supervision = supervise();

  return {
    url,
    isRunning: () => child.isRunning(),
    stop: async () => {
      stopping.abort();
      child.process.kill('SIGTERM');
      const force = setTimeout(() => child.process.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await supervision;
      clearTimeout(force);
    },
  };
}

/** The settings of an OpenSearch index, which search-core reads itself. */
export function clusterSettings(): Readonly<Record<string, string>> {
  const entries = Object.entries(process.env).flatMap(([name, value]) =>
    name.startsWith('SEARCH_CORE_OPENSEARCH') && value ? [[name, value] as const] : [],
  );
  return Object.fromEntries(entries);
}

interface Launched {
  readonly process: ChildProcess;
  readonly url: string;
  readonly exited: Promise<string>;
  isRunning(): boolean;
}

function launch(
  listen: string,
  options: { indexDir: string; logLevel: string },
): Promise<Launched> {
  const child = fork(PROGRAM, [], {
    env: {
      PATH: process.env.PATH,
      NODE_OPTIONS: process.env.NODE_OPTIONS,
      NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS,
      ...clusterSettings(),
      SEARCH_CORE_LISTEN: listen,
      SEARCH_CORE_INDEX: options.indexDir,
      LOG_LEVEL: options.logLevel,
    },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `code ${code ?? 'unknown'}`));
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error('search-core did not answer within a minute'));
    }, READY_TIMEOUT_MS);
    void exited.then((exit) => {
      clearTimeout(timer);
      reject(new Error(`search-core ended while starting (${exit})`));
    });
    child.once('message', (message: { url: string }) => {
      clearTimeout(timer);
      const isRunning = () => child.exitCode === null && child.signalCode === null;
      resolve({ process: child, url: message.url, exited, isRunning });
    });
  });
}
