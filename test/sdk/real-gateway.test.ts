import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../sdk/typescript/src/cli/run.js';
import * as sdk from '../../sdk/typescript/src/index.js';
import { FileStore, privateKeyAccount } from '../../sdk/typescript/src/node/index.js';
import type { Fault } from '../support/fault-proxy.js';
import { startRealWorld, type RealWorld } from '../support/sdk-real.js';

let world: RealWorld;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'search402-real-'));
  world = await startRealWorld();
});
afterAll(async () => {
  await world.close();
  rmSync(directory, { recursive: true, force: true });
});

const payer = (payment: sdk.PaymentOptions = {}, more: sdk.ClientOptions = {}) =>
  new sdk.Search402({
    baseUrl: world.proxy.url,
    wallet: privateKeyAccount(world.service.dev.payerPrivateKey),
    payment: {
      payees: [world.service.dev.payTo],
      store: new sdk.MemoryStore(),
      ...payment,
    },
    logLevel: 'off',
    ...more,
  });

const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (reason: unknown) => reason,
  );

/** What can happen to an answer; the Python client meets the same. */
const FAULTS = JSON.parse(readFileSync('test/vectors/faults.json', 'utf8')) as readonly Fault[];
/** Long enough for a busy machine; short only where waiting is what is tried. */
const patience = ({ kind }: Fault) => (kind === 'slow-body' ? { timeoutMs: 5_000 } : {});

/** What `work` adds to the chain, and the payments that it hands out. */
async function changes(work: () => Promise<unknown>) {
  const before = await world.transfers();
  const from = world.proxy.seen.length;
  await work();
  const seen = world.proxy.seen.slice(from);
  return {
    transfers: (await world.transfers()).slice(before.length),
    tries: seen.length,
    payments: new Set(seen.flatMap(({ payment }) => payment ?? [])).size,
  };
}

async function doctor(env: Record<string, string>) {
  const lines: string[] = [];
  const note = (line: string) => void lines.push(line);
  const { url } = world.proxy;
  const store = join(directory, 'doctor.jsonl');
  const code = await run(['doctor', '--base-url', url, '--store', store], '0', {
    ...{ out: note, err: note },
    env,
  });
  return { code, text: lines.join('\n') };
}

describe('against the real gateway', () => {
  test('a proxy that refuses what was settled does not keep the reply from its payer', async () => {
    const { transfers, payments } = await changes(async () => {
      world.proxy.faults.push({ kind: 'pass' }, { kind: 'status-after', status: 403 });
      const outcome = await payer().searchWithResponse({ query: 'lighthouse lamp' });
      expect(outcome.status).toBe(200);
      expect(outcome.payment).toMatchObject({ status: 'paid' });
      expect(outcome.payment?.transaction).toMatch(/^0x[0-9a-f]{64}$/);
    });
    expect(transfers).toHaveLength(1);
    expect(payments).toBe(1);
  });

  test('nor a pack that was settled, which its key is fetched for', async () => {
    const { transfers } = await changes(async () => {
      world.proxy.faults.push({ kind: 'pass' }, { kind: 'status-after', status: 403 });
      const bought = await payer().buyPack();
      expect(bought).toMatchObject({ payment: { status: 'paid' } });
      const keyed = new sdk.Search402({ baseUrl: world.proxy.url, apiKey: bought.key });
      await keyed.search({ query: 'lighthouse' });
    });
    expect(transfers).toHaveLength(1);
  });

  test('the doctor finds all well, and an empty wallet', async () => {
    const { apiKey, payerPrivateKey, rpcUrl } = world.service.dev;
    const well = await doctor({
      SEARCH402_API_KEY: apiKey,
      SEARCH402_PRIVATE_KEY: payerPrivateKey,
      SEARCH402_RPC_URL: rpcUrl,
    });
    for (const name of [
      'address',
      'clock',
      'index',
      'key',
      'price',
      'chain',
      'balance',
      'wallet',
    ]) {
      expect(well.text).toMatch(new RegExp(`^✓ ${name} `, 'm'));
    }
    expect(well.text).toMatch(/credits left/);
    expect(well.code).toBe(0);
    const poor = await doctor({
      SEARCH402_PRIVATE_KEY: '77'.repeat(32),
      SEARCH402_RPC_URL: rpcUrl,
    });
    expect(poor.text).toMatch(
      /✗ balance +0 USDC, enough for 0 searches\n +→ Send some USDC on Base/,
    );
    expect(poor.code).toBe(1);
  });

  test('a key searches, and errors are typed', async () => {
    const { apiKey } = world.service.dev;
    const options = { baseUrl: world.proxy.url, logLevel: 'off' } as const;
    const keyed = new sdk.Search402({ ...options, apiKey });
    const { result } = await keyed.search({ query: 'lighthouse lamp', maxResults: 1 });
    expect(result.results[0]?.url).toBe('https://pages.example/lighthouse');
    const wrong = new sdk.Search402({ ...options, apiKey: 's402_live_wrong' });
    expect(await failure(wrong.search({ query: 'x' }))).toMatchObject({
      name: 'AuthenticationError',
      code: 'invalid_api_key',
    });
    expect(await failure(keyed.search({ prompt: 'x' } as never))).toMatchObject({
      name: 'UnprocessableContentError',
      code: 'unsupported_parameter',
    });
    expect(await failure(keyed.search({ query: ' ' }))).toMatchObject({ status: 422 });
  });

  test('a paid search is one transfer on chain, and the receipt names it', async () => {
    const client = payer();
    const quote = await client.quote();
    expect(quote).toMatchObject({ amountUnits: 50n, network: 'eip155:8453' });
    let outcome: sdk.SearchOutcome | undefined;
    const { transfers } = await changes(async () => {
      outcome = await client.searchWithResponse({ query: 'bread' });
    });
    expect(transfers).toEqual([outcome?.payment?.transaction]);
    expect(outcome?.data.result.results[0]?.url).toBe('https://pages.example/bread');
  });

  test.each(FAULTS)(
    '%j at the paid try: paid once, with the same payment, after as long as was asked for',
    async (fault) => {
      const client = payer({ maxTotal: 100n }, patience(fault));
      world.proxy.faults.push({ kind: 'pass' }, fault);
      const query = `tides ${JSON.stringify(fault)}`;
      const startedMs = performance.now();
      const seen = await changes(() => client.search({ query }));
      expect(seen).toMatchObject({ tries: 3, payments: 1 });
      expect(seen.transfers).toHaveLength(1);
      expect(await client.payments.spent()).toMatchObject({ totalUnits: 50n });
      expect(performance.now() - startedMs).toBeGreaterThan('retryAfter' in fault ? 1_000 : 0);
    },
  );

  test.each(FAULTS.filter(({ kind }) => kind === 'drop-before' || kind === 'status'))(
    '%j while the price is asked for: signed once, paid once',
    async (fault) => {
      world.proxy.faults.push(fault);
      const query = `door ${JSON.stringify(fault)}`;
      const seen = await changes(() => payer({}, patience(fault)).search({ query }));
      expect(seen).toMatchObject({ tries: 3, payments: 1 });
      expect(seen.transfers).toHaveLength(1);
    },
  );

  test('a process that stops after paying gets its results after the restart', async () => {
    const store = () => new FileStore(join(directory, 'restart.jsonl'));
    const query = { query: 'sourdough starter' };
    const seen = await changes(async () => {
      world.proxy.faults.push({ kind: 'pass' }, { kind: 'drop-after' });
      await failure(payer({ store: store() }, { maxRetries: 0 }).search(query));
      const outcome = await payer({ store: store() }).searchWithResponse(query);
      expect(outcome.tries).toBe(1);
      expect(outcome.data.result.totalResults).toBeGreaterThan(0);
    });
    expect(seen).toMatchObject({ tries: 3, payments: 1 });
    expect(seen.transfers).toHaveLength(1);
  });

  test('twelve searches at once under a cap for five are five transfers', async () => {
    const client = payer({ maxTotal: 250n });
    const queries = Array.from({ length: 12 }, (_, i) => `lighthouse keeper ${i}`);
    const seen = await changes(async () => {
      const { responses, failures } = await client.searchMany({ queries, concurrency: 12 });
      expect(responses.size).toBe(5);
      expect(failures.size).toBe(7);
    });
    expect(seen.payments).toBe(5);
    expect(seen.transfers).toHaveLength(5);
  });

  test('twelve searches at once under that cap stay under it while connections are lost', async () => {
    const client = payer({ maxTotal: 250n }, { maxRetries: 10 });
    const queries = Array.from({ length: 12 }, (_, i) => `lamp ${i}`);
    const lost: Fault[] = [{ kind: 'drop-after' }, { kind: 'status-after', status: 502 }];
    world.proxy.faults.push(...lost, ...lost, ...lost, ...lost, ...lost);
    const seen = await changes(async () => {
      const { responses, failures } = await client.searchMany({ queries, concurrency: 12 });
      expect([responses.size, failures.size]).toEqual([5, 7]);
    });
    expect(seen.payments).toBe(5);
    expect(seen.transfers).toHaveLength(5);
  });

  test('an empty wallet is told why, and signs once', async () => {
    const wallet = privateKeyAccount('77'.repeat(32));
    const client = new sdk.Search402({ baseUrl: world.proxy.url, wallet, logLevel: 'off' });
    const seen = await changes(async () => {
      const error = await failure(client.search({ query: 'bread' }));
      expect(error).toMatchObject({ status: 402, code: 'payment_invalid' });
      expect((error as sdk.PaymentRequiredError).reason).toMatch(/insufficient/);
    });
    expect(seen).toEqual({ transfers: [], tries: 2, payments: 1 });
  });
});
