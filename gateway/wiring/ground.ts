import { hkdfSync } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { createMetrics, type Metrics } from '../ground/observe/metrics.js';
import { closedDataFolder, openToOthers, readSealingKeys } from '../ground/private-files.js';
import type { IndexFacts } from '../ground/processes/look-at-search-core.js';
import { openSearchCore } from '../ground/processes/open-search-core.js';
import { startWatch } from '../ground/processes/watch.js';
import type { NodeState } from '../ground/processes/search-nodes.js';
import { openDataFolder } from '../ground/store/data-folder.js';
import { openStore } from '../ground/store/open.js';
import { sealingWith } from '../ground/store/sealing.js';
import type { Store } from '../ground/store/store.js';
import { systemClock as clock, systemRandom as random } from '../ground/system.js';
import { ownVersion } from '../ground/version.js';
import { keptOpen, keptSealed, type Keeping } from '../search/keeping.js';
import { openChain } from './chain-access.js';
import type { Config } from './config.js';
import { MIGRATIONS } from './migrations.js';
import { settingWarnings } from './setting-warnings.js';
import type { Stops } from './stops.js';

/** What every part is opened in. */
export interface Surroundings {
  readonly log: Logger;
  readonly stops: Stops;
  readonly onFatal: (error: unknown) => void;
}

export type Ground = Awaited<ReturnType<typeof openGround>>;

/** What everything stands on: the chain, search-core, and the database. */
export async function openGround(config: Config, { log, stops, onFatal }: Surroundings) {
  const { DATA_DIR: dataDir } = config;
  const warnings: string[] = [];
  if (isFolderNeeded(config)) {
    const folder = openDataFolder(dataDir, { isShared: isFolderShared(config) });
    stops.add('data folder', () => folder.stop());
    warnings.push(...(await closedDataFolder(dataDir)));
  }
  warnings.push(...(await openKeyFiles(config)), ...settingWarnings(config));
  const sealingKeys = await readSealingKeys(dataDir, config.SEALING_KEY_FILE);
  warnings.push(...sealingKeys.warnings);
  for (const warning of warnings) log.warn({}, warning);
  const metrics = createMetrics(clock);
  const opening = [
    stops.keep('chain', openChain(config, { clock, random, log, metrics })),
    stops.keep(
      'search-core',
      openSearchCore({
        urls: config.searchCoreUrls,
        indexDir: join(dataDir, 'index'),
        logLevel: config.LOG_LEVEL,
        clock,
        log,
      }),
    ),
  ] as const;
  await Promise.allSettled(opening);
  const [chain, core] = await Promise.all(opening);

  if (config.WATCH_SOURCES !== undefined) {
    const watch = startWatch({
      indexDir: join(dataDir, 'index'),
      sourcesFile: config.WATCH_SOURCES,
      clock,
      log,
    });
    stops.add('watch', () => watch.stop());
  }
  const opened = await openStore(
    {
      location: config.DATABASE_URL ?? join(dataDir, 'search402.db'),
      exclusive: true,
      migrations: MIGRATIONS,
      connectionsMax: config.DATABASE_CONNECTIONS,
      serving: {
        statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
        lockTimeoutMs: config.DATABASE_LOCK_TIMEOUT_MS,
        onChange: (change) => {
          if (change.kind === 'back') log.warn({ awayMs: change.awayMs }, 'the database is back');
          else log.error({ err: change.error }, 'the database does not answer');
        },
      },
    },
    { clock, random, onFailed: onFatal },
  );
  stops.add('database', () => opened.close());
  const store = timedStore(opened, metrics);
  const count = (name: string, help: string, read: () => number) =>
    metrics.gauge(`search402_store_${name}_total`, help, read);
  count('writes', 'Durable writes since the start', () => store.health().writes);
  const isReady = (part: string, help: string, read: () => boolean) =>
    metrics.gauge(`search402_${part}_ready`, help, () => (read() ? 1 : 0));
  isReady('database', '1 while the database takes writes', () => store.health().ready);
  isReady('search_core', '1 while search-core can search', () => core.health().ready);
  const ofNodes = (figure: string, help: string, read: (state: NodeState) => number) =>
    metrics.gauges(`search402_search_node_${figure}`, help, 'node', () =>
      core.nodes.map((node) => [node.name, read(node.state())] as const),
    );
  ofNodes('ready', '1 while this search-core gets searches', ({ ready }) => (ready ? 1 : 0));
  ofNodes(
    'generation',
    'The commit that this search-core serves',
    ({ index }) => index.generation ?? 0,
  );
  ofNodes('pages', 'Pages that this search-core has', ({ index }) => index.pages ?? 0);
  const ofIndexes = (figure: string, help: string, of: (facts: IndexFacts) => number | undefined) =>
    metrics.gauges(`search402_search_node_index_${figure}`, help, 'node', () =>
      core.nodes.flatMap((node) => {
        const value = of(node.state().index);
        return value === undefined ? [] : [[node.name, value] as const];
      }),
    );
  ofIndexes('bytes', 'Bytes of its files, where it is in files', ({ bytes }) => bytes);
  ofIndexes('age_seconds', 'Seconds since its last commit', ({ committedAt }) =>
    committedAt === undefined ? undefined : (clock.now() - committedAt) / 1000,
  );
  isReady('rpc', '1 while the chain answers', () => chain.health().ready);
  metrics.gauges('search402_build_info', 'The version that runs; always 1', 'version', () => [
    [ownVersion(), 1],
  ]);
  count('commits', 'Commits since the start', () => store.health().commits);
  const { keys } = sealingKeys;
  const sealing = sealingWith(keys, random);
  return {
    chain,
    core,
    store,
    metrics,
    sealing,
    keeping: keepingOf(config, keys[keys.length - 1] ?? keys[0]),
    warnings,
  };
}

/** Commits and reads, with the time that they take. */
function timedStore(store: Store, metrics: Metrics): Store {
  return {
    ...store,
    write: (work) => metrics.timed('database', () => store.write(work))(),
    read: (work) => metrics.timed('database', () => store.read(work))(),
  };
}

/**
 * The books' own secret is not in them: it comes from the oldest key that seals what is secret there,
 * so that gateways which have a newer one already agree with those that have not.
 */
function keepingOf({ RETENTION }: Config, sealingKey: Uint8Array): Keeping {
  if (RETENTION) return keptOpen;
  const secret = hkdfSync('sha256', sealingKey, '', 'search402 kept replies', 32);
  return keptSealed(new Uint8Array(secret), random);
}

/** What is wrong with the modes of the relayer's files, which the operator made. */
async function openKeyFiles({ chain }: Config): Promise<readonly string[]> {
  if (chain.kind !== 'mainnet' || !('file' in chain.mover)) return [];
  const { file, passphraseFile } = chain.mover;
  return [
    ...(await openToOthers('RELAYER_PRIVATE_KEY_FILE', file)),
    ...(passphraseFile === undefined
      ? []
      : await openToOthers('RELAYER_PASSPHRASE_FILE', passphraseFile)),
  ];
}

/** Two gateways of one PostgreSQL database may share a folder that holds no chain. */
function isFolderShared({ chain, DATABASE_URL }: Config): boolean {
  return chain.kind === 'mainnet' && DATABASE_URL !== undefined;
}

function isFolderNeeded(config: Config): boolean {
  const { searchCoreUrls, SEALING_KEY_FILE } = config;
  return !isFolderShared(config) || searchCoreUrls.length === 0 || SEALING_KEY_FILE === undefined;
}
