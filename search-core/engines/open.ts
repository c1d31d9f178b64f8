import type { Engine } from '../engine.js';
import { parseOpenSearch } from './opensearch/api.js';
import type { Layout } from './opensearch/documents.js';
import { OpenSearchEngine } from './opensearch/engine.js';
import { ThreadedEngine, type ThreadedEngineOptions } from './threaded.js';

/** An OpenSearch index, as the settings name it. */
export interface OpenSearchSetting {
  /** See `parseOpenSearch`. */
  readonly url: string;
  readonly passwordFile: string | undefined;
  readonly layout: Layout;
}

export interface EngineOptions extends ThreadedEngineOptions {
  /** That index is searched, not `indexDir`. */
  readonly openSearch?: OpenSearchSetting | undefined;
}

/**
 * Opens the engine that the service runs on.
 * @throws Error where the setting is wrong
 */
export async function openEngine({ openSearch, ...options }: EngineOptions): Promise<Engine> {
  if (openSearch) {
    const { url, passwordFile, layout } = openSearch;
    return new OpenSearchEngine(parseOpenSearch(url, passwordFile), layout);
  }
  return ThreadedEngine.open(options);
}

/**
 * The settings of an OpenSearch index, or undefined where none is named.
 * @throws Error that names the setting that is wrong
 */
export function openSearchSetting(environment: NodeJS.ProcessEnv): OpenSearchSetting | undefined {
  const url = environment.SEARCH_CORE_OPENSEARCH;
  const passwordFile = environment.SEARCH_CORE_OPENSEARCH_PASSWORD_FILE;
  if (!url) return undefined;
  const count = (name: string, least: number, most: number, standard: number): number => {
    const text = environment[name] ?? '';
    if (text === '') return standard;
    const value = /^\d{1,4}$/u.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new Error(`${name} must be a whole number from ${least} to ${most}`);
  };
  return {
    url,
    passwordFile: passwordFile === '' ? undefined : passwordFile,
    layout: {
      shards: count('SEARCH_CORE_OPENSEARCH_SHARDS', 1, 1_024, 1),
      replicas: count('SEARCH_CORE_OPENSEARCH_REPLICAS', 0, 20, 1),
    },
  };
}
