import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Clock, Log } from '../domain/ports.js';
import type { PartHealth } from '../observe/health.js';
import { startLookout } from '../observe/lookout.js';
import { lookAtSearchCore } from './look-at-search-core.js';
import { startSearchCoreProcess } from './search-core.js';

export interface OpenSearchCore {
  /** `http://host:port` or `unix:/path`. */
  readonly url: string;
  health(): PartHealth;
  stop(): Promise<void>;
}

const CLI = fileURLToPath(new URL('../../../search-core/cli.js', import.meta.url));

/**
 * Finds search-core where the setting says, or starts one of its own over `indexDir`, which is
 * filled with the starter pages when it does not exist yet.
 */
export async function openSearchCore(options: {
  url: string | undefined;
  indexDir: string;
  logLevel: string;
  clock: Clock;
  log: Log;
}): Promise<OpenSearchCore> {
  if (options.url !== undefined) {
    const lookout = watch(options.url, options);
    return { url: options.url, health: () => lookout.health(), stop: () => lookout.stop() };
  }
  if (!existsSync(options.indexDir)) await buildStarterIndex(options.indexDir, options.log);
  const core = await startSearchCoreProcess(options);
  const lookout = watch(core.url, options);
  return {
    url: core.url,
    health: () =>
      core.isRunning() ? lookout.health() : { ready: false, detail: 'search-core is not running' },
    stop: async () => {
      await lookout.stop();
      await core.stop();
    },
  };
}

/** A process that is frozen, or stands on an engine that is, runs and answers nothing. */
const watch = (url: string, { clock, log }: { clock: Clock; log: Log }) =>
  startLookout({
    name: 'search-core',
    look: (signal) => lookAtSearchCore(url, signal),
    everyMs: 1_000,
    deadlineMs: 2_000,
    clock,
    log,
  });

function buildStarterIndex(indexDir: string, log: Log): Promise<void> {
  log.info({ indexDir }, 'building the starter index');
  const child = fork(CLI, ['starter', '--index', indexDir], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`the starter index could not be built (code ${code ?? 'unknown'})`));
    });
  });
}
