/**
 * Attacks that make a customer pay twice, or more than allowed, for what was bought once. What gets
 * through are transfers, credits or cap overruns beyond what was bought.
 */
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { PayerOrder, PayerStep } from '../support/attacked-payer.js';
import { startFaultProxy, type Fault } from '../support/fault-proxy.js';
import { startSdkWorld } from '../support/sdk.js';
import { startTestService } from '../support/service.js';
import { Search402, type PaymentRecord } from '../../sdk/typescript/src/index.js';
import { FileStore } from '../../sdk/typescript/src/node/index.js';
import type { AttackRow } from './row.js';

const PAYER = fileURLToPath(new URL('../support/attacked-payer.js', import.meta.url));
const PRIVATE_KEY = '42'.repeat(32);

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'search402-attack-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Wanted = Omit<PayerOrder, 'privateKey'>;
const argumentOf = (order: Wanted) => JSON.stringify({ ...order, privateKey: PRIVATE_KEY });

/** Their default store is in `folder`. */
function environmentOf(folder: string): NodeJS.ProcessEnv {
  const env = { ...process.env, XDG_STATE_HOME: folder, HOME: folder, LOCALAPPDATA: folder };
  delete (env as { SEARCH402_STORE?: string }).SEARCH402_STORE;
  return env;
}

/** Runs one payer in a process of its own. */
async function runPayer(folder: string, order: Wanted): Promise<void> {
  const env = environmentOf(folder);
  await promisify(execFile)(process.execPath, [PAYER, argumentOf(order)], { env });
}

/** Runs payers that all begin when each of them has started, and pay when each has signed. */
async function runAtOnce(count: number, folder: string, order: Wanted): Promise<void> {
  const payers = Array.from({ length: count }, () =>
    fork(PAYER, [argumentOf(order)], { env: environmentOf(folder), execArgv: [], stdio: 'ignore' }),
  );
  const ended = payers.map((payer) => once(payer, 'exit'));
  for (const step of ['started', 'signed'] satisfies PayerStep[]) {
    const told = payers.map(async (payer, index) => {
      const [news] = (await Promise.race([once(payer, 'message'), ended[index]])) as unknown[];
      if (news !== step) throw new Error(`a payer ended before it had ${step}`);
    });
    await Promise.all(told);
    for (const payer of payers) payer.send('go on');
  }
  await Promise.all(ended);
}

/** Three processes, one file store, one search: one transfer is bought. */
export async function threeProcesses(rounds = 3): Promise<AttackRow> {
  const world = await startSdkWorld();
  try {
    for (let round = 0; round < rounds; round += 1) {
      await inFolder(async (folder) => {
        const store = join(folder, 'payments');
        const queries = [`round ${round}`];
        await runAtOnce(3, folder, { baseUrl: world.gateway.url, queries, store, isInStep: true });
      });
    }
    return {
      attack: 'three processes with one file store search the same at once',
      tries: rounds,
      gotThrough: world.gateway.transfers.length - rounds,
      costToAttacker: 'nothing: it happens by itself',
      costToUs: '0.00005 USD of the customer for each further transfer',
    };
  } finally {
    await world.close();
  }
}

/** A proxy answers 403 after the gateway has settled: the payment must not be replaced. */
export async function refusalByProxy(
  statuses = [400, 401, 402, 403, 404, 422],
): Promise<AttackRow> {
  let gotThrough = 0;
  for (const status of statuses) {
    const world = await startSdkWorld();
    try {
      const client = world.client({ maxRetries: 0 });
      world.proxy.faults.push({ kind: 'pass' }, { kind: 'status-after', status });
      await client.search({ query: 'kestrel' }).catch(() => undefined);
      await client.search({ query: 'kestrel' });
      gotThrough += world.gateway.transfers.length - 1;
    } finally {
      await world.close();
    }
  }
  return {
    attack: 'a proxy refuses after the gateway has settled, and the customer searches again',
    tries: statuses.length,
    gotThrough,
    costToAttacker: 'a place between customer and gateway',
    costToUs: '0.00005 USD of the customer for each further transfer',
  };
}

/** What killed processes left lies around, and eight stores decide at once. */
export async function leftovers(rounds = 5): Promise<AttackRow> {
  let gotThrough = 0;
  for (let round = 0; round < rounds; round += 1) {
    gotThrough += await inFolder(async (folder) => {
      const path = join(folder, 'payments');
      for (const name of [`${path}.lock`, `${path}.new`]) {
        await writeFile(name, '');
        await utimes(name, 1, 1);
      }
      const stores = Array.from({ length: 8 }, () => new FileStore(path));
      const reserved = await Promise.all(
        stores.map((store, i) =>
          store.update((view) =>
            view.pending(RECORD.url, 'b').length > 0 ? undefined : { ...RECORD, id: `0x0${i}` },
          ),
        ),
      );
      return reserved.filter(Boolean).length - 1;
    });
  }
  return {
    attack: 'eight stores of one path decide at once beside an old lock of a killed process',
    tries: rounds,
    gotThrough,
    costToAttacker: 'a process that is killed at the wrong moment',
    costToUs: '0.00005 USD of the customer for each further transfer',
  };
}

const RECORD: PaymentRecord = {
  id: '0x00',
  status: 'open',
  url: 'https://search.example/search',
  body: 'b',
  header: 'h',
  network: 'eip155:8453',
  asset: '0x01',
  payer: '0x02',
  payTo: '0x03',
  amountUnits: 50n,
  createdAtMs: 1,
  validBefore: 1,
};

/** A gateway takes the money and says that it did not; the program is restarted, over and over. */
export async function lyingGateway(restarts = 3): Promise<AttackRow> {
  const world = await startSdkWorld();
  const allowed = 5;
  try {
    world.gateway.terms = { amount: '1000' };
    world.gateway.moves.push(...Array<'lie'>(1_000).fill('lie'));
    await inFolder(async (folder) => {
      for (let start = 0; start < restarts; start += 1) {
        const queries = Array.from({ length: allowed }, (_, i) => `query ${start} ${i}`);
        await runPayer(folder, { baseUrl: world.gateway.url, queries, maxPerDay: '0.005' });
      }
    });
    return {
      attack: 'a lying gateway takes the daily cap again after each restart (default store)',
      tries: restarts,
      gotThrough: world.gateway.transfers.length - allowed,
      costToAttacker: 'a gateway that the customer trusts',
      costToUs: '0.001 USD of the customer for each payment over the cap',
      note: `the cap of ${allowed} payments a day was taken once`,
    };
  } finally {
    await world.close();
  }
}

/** The answer to one keyed search is lost twice; the real gateway counts credits. */
export async function lostAnswers(rounds = 5): Promise<AttackRow> {
  const service = await startTestService();
  const proxy = await startFaultProxy(service.gatewayUrl);
  try {
    const { apiKey } = service.dev;
    const headers = { authorization: `Bearer ${apiKey}` };
    const spent = async () => {
      const response = await fetch(`${service.gatewayUrl}/account`, { headers });
      return ((await response.json()) as { credits: { spent: number } }).credits.spent;
    };
    const before = await spent();
    const client = new Search402({ baseUrl: proxy.url, apiKey, logLevel: 'off' });
    for (let round = 0; round < rounds; round += 1) {
      const lost: Fault = { kind: 'drop-after' };
      proxy.faults.push(lost, lost);
      await client.search({ query: 'lighthouse' });
    }
    return {
      attack: 'the answer to one search with a key is lost twice',
      tries: rounds,
      gotThrough: (await spent()) - before - rounds,
      costToAttacker: 'nothing: it happens by itself',
      costToUs: 'one credit of the customer for each further search',
    };
  } finally {
    await proxy.close();
    await service.stop();
  }
}

/** All of them, one after the other. */
export async function doublePayment(): Promise<readonly AttackRow[]> {
  const rows: AttackRow[] = [];
  for (const attack of [threeProcesses, refusalByProxy, leftovers, lyingGateway, lostAnswers]) {
    rows.push(await attack());
  }
  return rows;
}
