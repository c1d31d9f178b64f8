import { parseOpenSearch } from './opensearch/api.js';
import { OpenSearchEngine } from './opensearch/engine.js';
import type { Engine } from '../engine.js';
import { ThreadedEngine, type ThreadedEngineOptions } from './threaded.js';

export interface EngineOptions extends ThreadedEngineOptions {
  /** `http(s)://[name:password@]host[:port]/index`: that index is searched, not `indexDir`. Empty: none. */
  readonly openSearch?: string | undefined;
}

/**
 * Opens the engine that the service runs on.
 * @throws Error where the setting is wrong or the index is damaged
 */
export async function openEngine({ openSearch, ...options }: EngineOptions): Promise<Engine> {
  if (openSearch) return new OpenSearchEngine(parseOpenSearch(openSearch));
  return ThreadedEngine.open(options);
}
