import { banner } from './banner.js';
import { PreflightError } from './chain/preflight.js';
import { ConfigError, readConfig } from './config.js';
import { createLog } from './observe/log.js';
import { startService } from './service.js';
import { StoreUnusable } from './store/store.js';

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
  const config = readConfig(process.env, args);
  const log = createLog(config.LOG_LEVEL);
  const fatal = (error: unknown) => {
    log.fatal({ err: error }, 'the service cannot go on; ending so that a restart recovers');
    process.exit(1);
  };
  process.on('uncaughtException', fatal);
  process.on('unhandledRejection', fatal);

  const stopped = stopSignal();
  const service = await startService(config, log, fatal);
  process.stdout.write(banner(service.facts));
  const signal = await stopped;
  log.info({ signal }, 'draining');
  await service.stop();
  log.info({}, 'stopped');
}

/** Resolves at the first SIGTERM or SIGINT; the second ends the process at once. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (signal: string) => {
      if (asked) process.exit(1);
      asked = true;
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

function explain(error: unknown): string {
  if (error instanceof ConfigError) {
    return `These settings cannot be used:\n${error.problems.map((line) => `  ${line}`).join('\n')}`;
  }
  if (error instanceof PreflightError || error instanceof StoreUnusable) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`search402 did not start. ${explain(error)}\n`);
    process.exit(1);
  },
);
