import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Clock, Log } from '../domain/ports.js';
import { type SearchNodes, watchNodes } from './search-nodes.js';
import { clusterSettings, startSearchCoreProcess } from './search-core.js';

const CLI = fileURLToPath(new URL('../../../search-core/cli.js', import.meta.url));

/**
 * Finds the search-cores that the settings name, or starts one of its own over `indexDir`, which is
 * filled with the starter pages when it does not exist yet, or over the OpenSearch index that the
 * environment names.
 */
export async function openSearchCore(options: {
  urls: readonly string[];
  indexDir: string;
  logLevel: string;
  clock: Clock;
  log: Log;
}): Promise<SearchNodes> {
  if (options.urls.length > 0) return watchNodes(options.urls, options);
  const isOnCluster = clusterSettings().SEARCH_CORE_OPENSEARCH !== undefined;
  if (!isOnCluster && !existsSync(options.indexDir))
    await buildStarterIndex(options.indexDir, options.log);
  const core = await startSearchCoreProcess(options);
  const watched = await watchNodes([core.url], options);
  return {
    nodes: watched.nodes,
    health: () =>
      core.isRunning() ? watched.health() : { ready: false, detail: 'search-core is not running' },
    stop: async () => {
      await watched.stop();
      await core.stop();
    },
  };
}

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
