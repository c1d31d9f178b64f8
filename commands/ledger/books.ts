import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readDevFacts } from '../../gateway/dev/facts.js';
import { readConfig } from '../../gateway/wiring/config.js';
import { openStore } from '../../gateway/ground/store/open.js';
import { systemClock, systemRandom } from '../../gateway/ground/system.js';
import { MIGRATIONS } from '../../gateway/wiring/migrations.js';
import { UsageError } from '../command.js';

const config = () => readConfig(process.env, []);

/** The books of the configured gateway. @throws UsageError where there are none. */
export async function openBooks() {
  const { DATABASE_URL, DATA_DIR } = config();
  const location = DATABASE_URL ?? join(DATA_DIR, 'search402.db');
  if (DATABASE_URL === undefined && !existsSync(location)) {
    throw new UsageError(
      `there are no books at ${location}: start the gateway once, or set DATA_DIR`,
    );
  }
  const ports = {
    clock: systemClock,
    random: systemRandom,
    onFailed: (error: unknown) => {
      throw error;
    },
  };
  return openStore({ location, migrations: MIGRATIONS }, ports);
}

/** The chain and the payee: as configured, or as the development start in DATA_DIR says. @throws UsageError */
export async function chainFacts(): Promise<{ urls: readonly string[]; payTo: string }> {
  const { chain, DATA_DIR } = config();
  if (chain.kind === 'mainnet') return { urls: chain.rpcUrls, payTo: chain.payTo };
  const dev = await readDevFacts(join(DATA_DIR, 'dev.json'));
  if (dev?.rpcUrl === undefined || dev.payTo === undefined) {
    throw new UsageError('reconcile needs RPC_URLS and PAY_TO, or a development start in DATA_DIR');
  }
  return { urls: [dev.rpcUrl], payTo: dev.payTo };
}
