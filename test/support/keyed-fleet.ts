/**
 * Gateways of one installation, as processes of their own: one chain, one PostgreSQL, one index.
 *   const fleet = await startFleet();
 *   const gateway = await fleet.start({ DRAIN_DELAY_MS: '500' });
 *   await fleet.search(gateway.url);           // with a key of an account that has credits
 *   await fleet.stop();
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { createAccount } from '../../gateway/customers/accounts/accounts.js';
import { openCredits } from '../../gateway/customers/credits/credits.js';
import type { AccountTables } from '../../gateway/customers/credits/schema.js';
import { openKeys } from '../../gateway/customers/keys/keys.js';
import type { Store } from '../../gateway/ground/store/store.js';
import { openBooks } from './audit.js';
import { startTestChain } from './chain.js';
import { startFakeSearchCore } from './fake-search-core.js';
import { type RunningGateway, startGateway } from './gateway-process.js';
import { PAYERS_PUBLIC_URL } from './payer-client.js';
import { realClock, realRandom } from './ports.js';
import { startPostgres } from './postgres.js';

const CREDITS = 1_000_000;
const RATE_PER_SECOND = 10_000;

export type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** How one search of the fleet's account ended. */
export interface Answered {
  /** 0 when the connection broke. */
  readonly status: number;
  readonly retryAfter: string | null;
}

export async function startFleet() {
  const [chain, server, core] = await Promise.all([
    startTestChain({ blockTimeSeconds: 0.5 }),
    startPostgres(),
    startFakeSearchCore(),
  ]);
  const folder = mkdtempSync(join(tmpdir(), 'search402-fleet-'));
  const sealingKeyFile = join(folder, 'shared.key');
  writeFileSync(sealingKeyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  const gateways: RunningGateway[] = [];
  const key = await withBooks(server.url, newKey);

  return {
    chain,
    server,
    core,
    start: async (env: Readonly<Record<string, string>> = {}): Promise<RunningGateway> => {
      const gateway = await startGateway({
        DATA_DIR: join(folder, String(gateways.length)),
        DATABASE_URL: server.url,
        SEARCH_CORE_URL: core.url,
        RPC_URLS: chain.rpcUrl,
        PAY_TO: chain.payTo,
        RELAYER_PRIVATE_KEY: chain.relayerPrivateKey,
        PUBLIC_URL: PAYERS_PUBLIC_URL,
        SEALING_KEY_FILE: sealingKeyFile,
        LOG_LEVEL: 'warn',
        ADDRESS_RATE: '1000',
        ...env,
      });
      gateways.push(gateway);
      return gateway;
    },
    /** One search with the key. */
    search: async (url: string): Promise<Answered> => {
      try {
        const response = await fetch(`${url}/search`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
          body: '{"query":"lighthouse"}',
        });
        await response.arrayBuffer();
        return { status: response.status, retryAfter: response.headers.get('retry-after') };
      } catch {
        return { status: 0, retryAfter: null };
      }
    },
    key,
    /** The account's credits; throws when the balance is not what the movements come to. */
    credits: () =>
      withBooks(server.url, async (store) => {
        const credits = openCredits(store, realClock, realRandom);
        const wrong = await credits.reconcile();
        if (wrong.length > 0) throw new Error(`the books of ${wrong.join(', ')} do not add up`);
        const balance = await credits.balance(ACCOUNT);
        if (!balance) throw new Error('the account is gone');
        return balance;
      }),
    stop: async () => {
      for (const gateway of gateways) {
        gateway.process.kill('SIGKILL');
        await gateway.exited;
      }
      await core.stop();
      await chain.stop();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const ACCOUNT = 'fleet';

async function withBooks<T>(url: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openBooks(url);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

async function newKey(store: Store): Promise<string> {
  await store.write(async (tx: Kysely<AccountTables>) => {
    const account = { id: ACCOUNT, name: ACCOUNT, plan: 'enterprise', credits: CREDITS } as const;
    await createAccount(tx, { ...account, cause: 'operator' }, realClock.now());
    await tx.updateTable('accounts').set({ rate_per_second: RATE_PER_SECOND }).execute();
  });
  const made = await openKeys(store, realClock, realRandom).create(ACCOUNT, null, { name: 'test' });
  if (!('key' in made)) throw new Error('no key was made');
  return made.key;
}
