/** `npm run index`: the operator's program to fill, verify and change the search index. */
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { LockedError } from './disk/lock.js';
import { isPublicAddress } from '../network/public-address.js';
import { blocklistFile } from './ingest/blocked/blocklist.js';
import { guardedSink } from './ingest/blocked/guarded-sink.js';
import { type Removal, removePages, takeDown } from './ingest/blocked/remove.js';
import { createExtractPool } from './ingest/html/pool.js';
import { indexCrawl } from './ingest/crawl/crawl.js';
import { resolveHost } from '../network/checked-lookup.js';
import { indexJsonl } from './ingest/jsonl-load.js';
import { indexStarter } from './ingest/starter-load.js';
import { OpenSearchError, parseOpenSearch } from './engines/opensearch/api.js';
import { engineSink } from './ingest/engine-sink.js';
import { type CommandPorts, IngestError } from './ingest/load.js';
import { startProgress } from './ingest/progress.js';
import { openSearchSink } from './ingest/opensearch-sink.js';
import { type Report, reportJson, reportText } from './ingest/report.js';
import type { PageSink } from './ingest/sink.js';
import { USAGE } from './ingest/usage.js';
import { indexArchives } from './ingest/warc/archive.js';
import { clusterSink } from './ingest/watch/cluster-sink.js';
import { livingSink } from './ingest/watch/living-sink.js';
import { watchSources } from './ingest/watch/run.js';
import { checkIndex } from './index/check.js';

const OPTIONS = {
  index: { type: 'string', default: 'data/index' },
  add: { type: 'boolean', default: false },
  replace: { type: 'boolean', default: false },
  depth: { type: 'string', default: '10' },
  'max-pages': { type: 'string', default: '10000' },
  delay: { type: 'string', default: '1' },
  'allow-private': { type: 'boolean', default: false },
  sources: { type: 'string', default: 'data/sources.json' },
  once: { type: 'boolean', default: false },
  why: { type: 'string', default: 'by the operator' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

const parse = (argv: string[]) =>
  parseArgs({ args: argv, options: OPTIONS, allowPositionals: true });

type Options = ReturnType<typeof parse>['values'];
type Fill = (args: string[], options: Options, ports: CommandPorts) => Promise<Report>;

/** A command that fills the index, and how many arguments it takes. */
interface FillCommand {
  readonly argsMin: number;
  readonly argsMax: number;
  readonly fill: Fill;
}

const loadOptions = ({ index, add }: Options) => ({ index, isAddition: add });

const FILL_COMMANDS: Readonly<Record<string, FillCommand>> = {
  jsonl: {
    argsMin: 1,
    argsMax: 1,
    fill: ([file = ''], options, ports) => indexJsonl(file, loadOptions(options), ports),
  },
  starter: {
    argsMin: 0,
    argsMax: 1,
    fill: ([directory = 'node_modules'], options, ports) =>
      indexStarter(directory, loadOptions(options), ports),
  },
  warc: {
    argsMin: 1,
    argsMax: Infinity,
    fill: (files, options, ports) => indexArchives('warc', files, loadOptions(options), ports),
  },
  wet: {
    argsMin: 1,
    argsMax: Infinity,
    fill: (files, options, ports) => indexArchives('wet', files, loadOptions(options), ports),
  },
  crawl: { argsMin: 1, argsMax: Infinity, fill: crawl },
};

async function crawl(seeds: string[], options: Options, ports: CommandPorts): Promise<Report> {
  const isAllowed = options['allow-private'] ? () => true : isPublicAddress;
  return indexCrawl(
    seeds,
    {
      index: options.index,
      isAddition: !options.replace,
      depthMax: numberOf('--depth', options.depth, 1_000),
      fetchesMax: numberOf('--max-pages', options['max-pages'], 500_000),
      delayMs: numberOf('--delay', options.delay, 3_600) * 1_000,
      timeoutMs: 20_000,
      bytesMax: 5 * 1024 * 1024,
    },
    {
      ...ports,
      isAllowedAddress: isAllowed,
      resolve: resolveHost,
      sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
    },
  );
}

function numberOf(name: string, text: string, max: number): number {
  const value = /^\d+(?:\.\d+)?$/u.test(text) ? Number(text) : Number.NaN;
  if (value <= max) return value;
  throw new IngestError(`${name} must be a number from 0 to ${max}, not ${text}`);
}

/** Runs one command line; resolves to the exit code: 0 done, 1 failed, 2 not understood. */
async function main(argv: string[]): Promise<number> {
  process.umask(0o077); // an index belongs to who makes it, as everything in the data folder
  let parsed;
  try {
    parsed = parse(argv);
  } catch (error) {
    return misused(error instanceof Error ? error.message : String(error));
  }
  const { values: options, positionals } = parsed;
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const [name = '', ...args] = positionals;
  if (name === 'check' && args.length === 0) return check(options);
  if (name === 'delete' && args.length > 0) return remove(args, options);
  if (name === 'takedown' && args.length > 0) return takeOut(args, options);
  if (name === 'watch' && args.length === 0) return watch(options);
  const command = Object.hasOwn(FILL_COMMANDS, name) ? FILL_COMMANDS[name] : undefined;
  if (command && args.length >= command.argsMin && args.length <= command.argsMax) {
    return fill(command.fill, args, options);
  }
  const isFile = name === '-' || existsSync(name);
  if (!command && isFile && args.length === 0) return fill(JSONL, positionals, options);
  return misused(name === '' ? 'no command' : `not understood: ${positionals.join(' ')}`);
}

const JSONL: Fill = ([file = ''], options, ports) => indexJsonl(file, loadOptions(options), ports);

function misused(problem: string): number {
  console.error(`${problem}\n\n${USAGE}`);
  return 2;
}

async function fill(command: Fill, args: string[], options: Options): Promise<number> {
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  const { stderr } = process;
  const nowMs = (): number => performance.now();
  const progress = startProgress({
    write: (text) => stderr.write(text),
    isTerminal: stderr.isTTY,
    columns: stderr.columns,
    nowMs,
  });
  try {
    const { sink, place } = targetOf(options);
    const done = await command(args, options, { sink, progress, signal: stop.signal, nowMs });
    const report = { ...done, index: place };
    console.log(options.json ? reportJson(report) : reportText(report));
    return 0;
  } catch (error) {
    progress.end();
    return failed(error);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}

/** Where pages go: the index directory, or the OpenSearch index that the setting names. */
function targetOf({ index }: Options): { readonly sink: PageSink; readonly place: string } {
  const setting = process.env.SEARCH_CORE_OPENSEARCH;
  const address = setting ? parseOpenSearch(setting) : undefined;
  const sink = address ? openSearchSink(address) : engineSink(index);
  const place = address ? `${address.origin}/${address.index}` : index;
  return { sink: guardedSink(sink, blocklistFile(index)), place };
}

async function watch(options: Options): Promise<number> {
  const { index, sources, once } = options;
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  // Searches come first: where cores are scarce, the watch and its threads take what is left.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  // A parent that started this process takes it along when it dies.
  process.once('disconnect', onSignal);
  const pool = createExtractPool();
  try {
    const setting = process.env.SEARCH_CORE_OPENSEARCH;
    const report = await watchSources(
      { index, sourcesFile: sources, isOnce: once, timeoutMs: 20_000, bytesMax: 5 * 1024 * 1024 },
      {
        openSink: (stamp) =>
          setting
            ? clusterSink(openSearchSink(parseOpenSearch(setting)))
            : livingSink(index, stamp),
        isAllowedAddress: options['allow-private'] ? () => true : isPublicAddress,
        resolve: resolveHost,
        nowMs: () => Date.now(),
        sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
        signal: stop.signal,
        say: (line) => console.error(line),
        pool,
      },
    );
    const { looks, addresses, indexPages } = report;
    console.log(
      options.json
        ? JSON.stringify({ ok: true, ...report })
        : `${looks} looks, ${addresses} addresses known, ${index} holds ${indexPages} pages`,
    );
    return 0;
  } catch (error) {
    return failed(error);
  } finally {
    await pool.close();
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal).off('disconnect', onSignal);
  }
}

async function check({ index, json }: Options): Promise<number> {
  try {
    const result = await checkIndex(index);
    const summary = `${index}: ${result.ok ? 'sound' : 'DAMAGED'}, ${result.pages} pages in ${result.segments} segments`;
    console.log(json ? JSON.stringify(result) : [summary, ...result.problems].join('\n'));
    return result.ok ? 0 : 1;
  } catch (error) {
    return failed(error);
  }
}

const remove = (names: readonly string[], options: Options): Promise<number> =>
  removal(options, (sink) => removePages(sink, names));

const takeOut = (names: readonly string[], options: Options): Promise<number> =>
  removal(options, (sink) => takeDown(sink, blocklistFile(options.index), names, options.why));

async function removal(
  options: Options,
  job: (sink: PageSink) => Promise<Removal>,
): Promise<number> {
  try {
    const { sink, place } = targetOf(options);
    const { pages, removed } = await job(sink);
    console.log(
      options.json
        ? JSON.stringify({ ok: true, removed, indexPages: pages })
        : `${removed} pages removed; ${place} now holds ${pages} pages`,
    );
    return 0;
  } catch (error) {
    return failed(error);
  }
}

/** What the operator can mend is said in a sentence; a bug shows where it is. */
function failed(error: unknown): number {
  const isExpected =
    error instanceof IngestError ||
    error instanceof OpenSearchError ||
    error instanceof LockedError ||
    (error instanceof Error && 'code' in error);
  console.error(isExpected || !(error instanceof Error) ? String(error) : error.stack);
  return 1;
}

process.exitCode = await main(process.argv.slice(2));
