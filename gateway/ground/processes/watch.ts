import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Clock, Log } from '../domain/ports.js';

const CLI = fileURLToPath(new URL('../../../search-core/cli.js', import.meta.url));
const RESTART_DELAYS_MS = [1_000, 10_000, 60_000, 600_000];
/** A watch that ran this long starts over with the shortest delay when it ends. */
const STEADY_MS = 10 * 60_000;
const STOP_TIMEOUT_MS = 10_000;

/**
 * Runs the watch of an index as a process of its own, and starts it again when it ends, each time
 * later: the operator may have to mend its file of sources. Searches do not depend on it.
 */
export function startWatch(options: {
  readonly indexDir: string;
  readonly sourcesFile: string;
  readonly clock: Clock;
  readonly log: Log;
}): { stop(): Promise<void> } {
  const { indexDir, sourcesFile, clock, log } = options;
  const stopping = new AbortController();
  const isStopping = () => stopping.signal.aborted;
  const args = ['watch', '--index', indexDir, '--sources', sourcesFile];
  const launch = () => {
    const child = fork(CLI, args, {
      env: {
        PATH: process.env.PATH,
        NODE_OPTIONS: process.env.NODE_OPTIONS,
        SEARCH_CORE_OPENSEARCH: process.env.SEARCH_CORE_OPENSEARCH,
      },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    child.stderr?.on('data', (bytes: Buffer) => {
      log.warn({}, `watch: ${bytes.toString().trim()}`);
    });
    const exited = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal ?? `code ${code ?? 'unknown'}`));
    });
    return { child, exited };
  };
  let running = launch();
  const supervise = async () => {
    for (let deaths = 0; ; deaths += 1) {
      const begun = clock.monotonicMs();
      const exit = await running.exited;
      if (isStopping()) return;
      if (clock.monotonicMs() - begun > STEADY_MS) deaths = 0;
      log.error({ exit }, 'the watch of the index ended; starting it again');
      await clock.sleep(RESTART_DELAYS_MS[deaths] ?? 600_000, stopping.signal);
      if (isStopping()) return;
      running = launch();
    }
  };
  const supervision = supervise();
  return {
    stop: async () => {
      stopping.abort();
      running.child.kill('SIGTERM');
      const force = setTimeout(() => running.child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await supervision;
      clearTimeout(force);
    },
  };
}
