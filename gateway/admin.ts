import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ADMIN_HELP, AdminProblem, runAdmin } from './customers/accounts/cli.js';
import { openCredits } from './customers/credits/credits.js';
import { openAccounts } from './customers/accounts/manage.js';
import { readConfig } from './wiring/config.js';
import { ConfigError } from './ground/setting-kinds.js';
import { createPrivateFilesOnly, readSealingKeys } from './ground/private-files.js';
import { sealingWith } from './ground/store/sealing.js';
import { forgetSecrets, resealSecrets } from './wiring/database-secrets.js';
import { openKeys } from './customers/keys/keys.js';
import { MIGRATIONS } from './wiring/migrations.js';
import { openStore } from './ground/store/open.js';
import { StoreUnavailable, StoreUnusable } from './ground/store/store.js';
import { systemClock as clock, systemRandom as random } from './ground/system.js';

/** The operator's command line, on the same database as the service, running or not. */
async function main(): Promise<void> {
  const args = process.argv.slice(2);
  if (args.length === 0 || args.includes('--help')) {
    process.stdout.write(ADMIN_HELP);
    return;
  }
  const { DATABASE_URL, DATA_DIR, SEALING_KEY_FILE } = readConfig(process.env, []);
  createPrivateFilesOnly();
  await mkdir(DATA_DIR, { recursive: true });
  const store = await openStore(
    { location: DATABASE_URL ?? join(DATA_DIR, 'search402.db'), migrations: MIGRATIONS },
    {
      clock,
      random,
      onFailed: (error) => {
        throw error;
      },
    },
  );
  try {
    const keys = openKeys(store, clock, random);
    const credits = openCredits(store, clock, random);
    const accounts = openAccounts(store, clock, { keys, credits });
    const parts = {
      store,
      clock,
      random,
      keys,
      credits,
      accounts,
      forgetSecrets: () => forgetSecrets(store),
      resealSecrets: async () => {
        const { keys } = await readSealingKeys(DATA_DIR, SEALING_KEY_FILE);
        await resealSecrets(store, sealingWith(keys, random));
      },
    };
    process.stdout.write(await runAdmin(args, parts));
  } finally {
    await store.close();
  }
}

/** Errors whose message says all that an operator needs. */
const EXPECTED = [AdminProblem, ConfigError, StoreUnusable, StoreUnavailable];

main().catch((error: unknown) => {
  const isExpected = EXPECTED.some((kind) => error instanceof kind);
  const text = error instanceof Error ? (isExpected ? error.message : error.stack) : String(error);
  process.stderr.write(`${text ?? ''}\n`);
  process.exitCode = 1;
});
