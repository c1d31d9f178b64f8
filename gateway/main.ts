import { banner } from './wiring/banner.js';
import { createPrivateFilesOnly } from './ground/private-files.js';
import { readConfig } from './wiring/config.js';
import { ConfigError } from './ground/setting-kinds.js';
import { createLog } from './ground/observe/log.js';
import { StartError } from './ground/domain/start-error.js';
import { StoreUnavailable, StoreUnusable } from './ground/store/store.js';

const HELP = `search402: a keyword web-search service that is paid per search

  npm start                    everything local: search, database, a development chain
  npm start -- --fork URL      the same on a fork of the chain behind URL
  npm start -- --help          this text

Settings are environment variables; .env.example lists them with their defaults.
`;

/** Reads the settings, starts the service, and stops it when asked. */
async function main(): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(HELP);
    return;
  }
  createPrivateFilesOnly();
  const config = readConfig(process.env, args);
  const log = createLog(config.LOG_LEVEL);
  const fatal = (error: unknown) => {
    log.fatal({ err: error }, 'the service cannot go on; ending so that a restart recovers');
    process.exit(1);
  };
  process.on('uncaughtException', fatal);
  process.on('unhandledRejection', fatal);

  const stopped = stopSignal();
  // Only here: who mistyped a setting does not wait for the whole service to load.
  const { startService } = await import('./wiring/service.js');
  const service = await startService(config, log, fatal);
  process.stdout.write(banner(service.facts));
  const signal = await stopped;
  log.info({ signal }, 'draining');
  await service.stop();
  log.info({}, 'stopped');
}

/** One Ctrl-C comes from the terminal and again through npm: so long they count as one, in ms. */
const SAME_SIGNAL_MS = 1000;

/** Resolves at the first SIGTERM or SIGINT; a later one ends the process at once. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let askedMs: number | undefined;
    const onSignal = (signal: string) => {
      if (askedMs !== undefined && performance.now() - askedMs > SAME_SIGNAL_MS) process.exit(1);
      askedMs ??= performance.now();
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

/** What the operator can mend: a stack would only hide the sentence. */
const ONE_SENTENCE = [StartError, StoreUnusable, StoreUnavailable];

function explain(error: unknown): string {
  if (error instanceof ConfigError) {
    if (error.problems.length === 1) return error.message;
    return `These settings are invalid:\n${error.problems.map((line) => `  ${line}`).join('\n')}`;
  }
  if (!(error instanceof Error)) return String(error);
  const isMendable = 'syscall' in error || ONE_SENTENCE.some((kind) => error instanceof kind);
  return isMendable ? error.message : (error.stack ?? error.message);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`search402 did not start. ${explain(error)}\n`);
    process.exit(1);
  },
);
