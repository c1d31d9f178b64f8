import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as sdk from '../../sdk/typescript/src/index.js';
import { FileStore, privateKeyAccount } from '../../sdk/typescript/src/node/index.js';
import type { Fault } from '../support/fault-proxy.js';
import { clientWith, startSdkWorld, type SdkWorld } from '../support/sdk.js';

let world: SdkWorld;
let directory: string;
beforeEach(async () => {
  world = await startSdkWorld();
  directory = mkdtempSync(join(tmpdir(), 'search402-sdk-'));
});
afterEach(async () => {
  await world.close();
  rmSync(directory, { recursive: true, force: true });
});

const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
const query = { query: 'kestrel' };
/** Distinct payments that the client handed out. */
const signatures = () => new Set(world.proxy.seen.flatMap(({ payment }) => payment ?? [])).size;

describe('paying', () => {
  test('a search is quoted, signed, paid once and answered', async () => {
    const told: string[] = [];
    const client = world.client({ payment: { onPayment: ({ status }) => told.push(status) } });
    const answer = await client.searchWithResponse(query);
    expect(answer.data.result.totalResults).toBe(3);
    expect(answer.tries).toBe(2);
    expect(answer.payment).toMatchObject({ status: 'paid', amountUnits: 50n });
    expect(answer.payment?.transaction).toBe(answer.payment?.id);
    expect(told).toEqual(['open', 'paid']);
    expect(world.gateway.transfers).toHaveLength(1);
    expect(await client.payments.spent()).toEqual({ dayUnits: 50n, totalUnits: 50n });
    const log = await client.payments.list();
    expect(log).toHaveLength(1);
    expect(log[0]).not.toHaveProperty('header');
  });

  test('an EIP-1193 provider signs through eth_signTypedData_v4', async () => {
    const { account } = world;
    const methods: string[] = [];
    const provider = {
      request: async ({ method, params }: { method: string; params?: unknown[] }) => {
        methods.push(method);
        if (method !== 'eth_signTypedData_v4') return [account.address];
        const data = JSON.parse(String(params?.[1])) as Parameters<typeof account.signTypedData>[0];
        return await account.signTypedData(data);
      },
    };
    await world.client({ wallet: provider }).search(query);
    expect(new Set(methods)).toEqual(new Set(['eth_requestAccounts', 'eth_signTypedData_v4']));
    expect(world.gateway.transfers[0]?.from.toLowerCase()).toBe(account.address.toLowerCase());
  });

  test('a private key signs without any package', async () => {
    const wallet = privateKeyAccount(`0x${'42'.repeat(32)}`);
    await world.client({ wallet }).search(query);
    expect(world.gateway.transfers[0]?.from).toBe(wallet.address.toLowerCase());
  });

  test('a quote tells the price and signs nothing', async () => {
    const quote = await world.client().quote();
    expect(quote).toMatchObject({ amountUnits: 50n, amountUsd: '0.00005', network: 'eip155:8453' });
    expect(signatures()).toBe(0);
  });

  test('a request that would fail anyway is not paid for', async () => {
    const error = await failure(world.client().search({ prompt: 'x' } as never));
    expect(error).toBeInstanceOf(sdk.UnprocessableContentError);
    expect(signatures()).toBe(0);
  });

  test('a wallet that refuses sets nothing aside', async () => {
    const refusing = {
      address: world.account.address,
      signTypedData: () => Promise.reject(new Error('denied by user')),
    };
    const client = world.client({ wallet: refusing, payment: { maxTotal: 50n } });
    expect(await failure(client.search(query))).toBeInstanceOf(sdk.SigningError);
    expect(await client.payments.spent()).toEqual({ dayUnits: 0n, totalUnits: 0n });
  });
});

describe('an unknown outcome', () => {
  const losses: readonly Fault[] = [
    { kind: 'drop-before' },
    { kind: 'drop-after' },
    { kind: 'cut-body' },
    { kind: 'slow-body', ms: 20_000 },
    ...[408, 429, 500, 502, 503, 504].flatMap((status): Fault[] => [
      { kind: 'status', status },
      { kind: 'status-after', status },
    ]),
  ];

  /** Long enough for a busy machine; short only where waiting is what is tried. */
  const patience = ({ kind }: Fault) => (kind === 'slow-body' ? { timeoutMs: 1_500 } : {});

  test.each(losses)('after %j is met with the same payment, and one transfer', async (fault) => {
    const client = world.client(patience(fault));
    world.proxy.faults.push({ kind: 'pass' }, fault, fault);
    const answer = await client.searchWithResponse(query);
    expect(answer.tries).toBe(4);
    expect(signatures()).toBe(1);
    expect(world.gateway.transfers).toHaveLength(1);
    expect(await client.payments.spent()).toMatchObject({ totalUnits: 50n });
  });

  test.each(losses)('after %j outlives the call: the next call sends the same', async (fault) => {
    const client = world.client({ ...patience(fault), maxRetries: 0 });
    world.proxy.faults.push({ kind: 'pass' }, fault);
    const error = await failure(client.search(query));
    expect(error).toMatchObject({ payment: { status: 'open' } });
    await client.search(query);
    expect(world.proxy.seen).toHaveLength(3);
    expect(signatures()).toBe(1);
    expect(world.gateway.transfers).toHaveLength(1);
  });

  test('settlement_pending is retried with the same payment until it is settled', async () => {
    world.gateway.moves.push('pending', 'pending');
    await world.client().search(query);
    expect(signatures()).toBe(1);
    expect(world.gateway.transfers).toHaveLength(1);

    world.gateway.moves.push('pending', 'pending', 'pending');
    const other = world.client();
    const error = await failure(other.search({ query: 'falcon' }));
    expect(error).toBeInstanceOf(sdk.SettlementPendingError);
    expect(error).toMatchObject({ payment: { status: 'open' }, retryAfterSeconds: 0 });
    await other.search({ query: 'falcon' });
    expect(world.gateway.transfers).toHaveLength(2);
  });

  test('survives a restart when it is kept in a file', async () => {
    const path = join(directory, 'deep', 'payments.jsonl');
    const fresh = () =>
      world.client({ maxRetries: 0, payment: { store: new FileStore(path), maxTotal: 50n } });
    world.proxy.faults.push({ kind: 'pass' }, { kind: 'drop-after' });
    await failure(fresh().search(query));
    expect(statSync(`${path}.d`).mode & 0o777).toBe(0o700);
    const answer = await fresh().searchWithResponse(query);
    expect(answer.tries).toBe(1);
    expect(signatures()).toBe(1);
    expect(world.gateway.transfers).toHaveLength(1);
    expect((await new FileStore(path).list())[0]).not.toHaveProperty('header');
    expect(await failure(fresh().search({ query: 'falcon' }))).toMatchObject({ cap: 'maxTotal' });
  });

  test('can be resumed without making the call again, and nothing new is signed', async () => {
    const client = world.client({ maxRetries: 0 });
    world.proxy.faults.push({ kind: 'pass' }, { kind: 'drop-after' });
    await failure(client.search(query));
    world.proxy.faults.push({ kind: 'pass' }, { kind: 'drop-before' });
    await failure(client.search({ query: 'falcon' }));
    world.gateway.moves.push('expired', 'expired');
    const { resumed, failures } = await client.payments.resume();
    expect(resumed.map(({ data }) => data.result.results[0]?.title)).toEqual(['kestrel 1']);
    expect(failures).toHaveLength(1);
    expect(signatures()).toBe(2);
  });

  test('an answer that only a server without books would give is not believed', async () => {
    const client = world.client({ maxRetries: 1 });
    const moved: Fault[] = [{ kind: 'pass' }, { kind: 'drop-after' }];
    world.proxy.faults.push(...moved, { kind: 'status', status: 402 });
    expect(await failure(client.search(query))).toMatchObject({ payment: { status: 'open' } });
    await client.search(query);
    expect(signatures()).toBe(1);
    expect(world.gateway.transfers).toHaveLength(1);
  });

  test('that can no longer be learned is not paid again within the call', async () => {
    const client = world.client({ maxRetries: 0 });
    world.proxy.faults.push({ kind: 'pass' }, { kind: 'drop-after' });
    await failure(client.search(query));
    // Its window has passed: whether the first try was settled cannot be told from this.
    world.gateway.moves.push('expired');
    world.gateway.forgetReplies();
    const error = await failure(client.search(query));
    expect(error).toBeInstanceOf(sdk.PaymentLostError);
    expect(signatures()).toBe(1);
    expect(await client.payments.spent()).toMatchObject({ totalUnits: 50n });
    await client.search(query);
    expect(signatures()).toBe(2);
  });

  test('ten calls at once for the same search share one payment', async () => {
    const { account } = world;
    const slow = {
      address: account.address,
      signTypedData: async (data: Parameters<typeof account.signTypedData>[0]) => {
        // All ten have asked for the price by then, and none is answered for a while after.
        while (world.proxy.seen.length < 10) await new Promise((done) => setTimeout(done, 10));
        return await account.signTypedData(data);
      },
    };
    const client = world.client({ wallet: slow });
    const paid = Array<Fault>(10).fill({ kind: 'slow-body', ms: 2_000 });
    world.proxy.faults.push(...Array<Fault>(10).fill({ kind: 'pass' }), ...paid);
    const answers = await Promise.all(Array.from({ length: 10 }, () => client.search(query)));
    expect(new Set(answers.map(({ requestId }) => requestId)).size).toBe(1);
    expect(world.gateway.transfers).toHaveLength(1);
    expect(signatures()).toBe(1);
  });

  test('an abort after the payment was sent leaves it open', async () => {
    const client = world.client();
    const stop = new AbortController();
    world.proxy.faults.push({ kind: 'pass' }, { kind: 'slow-body', ms: 20_000 });
    const call = failure(client.search(query, { signal: stop.signal }));
    while (signatures() === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    stop.abort();
    const error = await call;
    expect(error).toBeInstanceOf(sdk.AbortedError);
    expect(error).toMatchObject({ payment: { status: 'open' } });
    await client.search(query);
    expect(world.gateway.transfers).toHaveLength(1);
  });
});

describe('a refused payment', () => {
  test.each(['expired', 'fail'] as const)('(%s) is replaced once', async (move) => {
    const client = world.client();
    world.gateway.moves.push(move);
    const answer = await client.searchWithResponse(query);
    expect(answer.tries).toBe(3);
    expect(signatures()).toBe(2);
    expect(world.gateway.transfers).toHaveLength(1);
    const log = await client.payments.list();
    expect(log.map(({ status }) => status)).toEqual(['refused', 'paid']);
  });

  test('is not replaced a second time', async () => {
    world.gateway.moves.push('fail', 'fail', 'fail', 'fail');
    const error = await failure(world.client().search(query));
    expect(error).toMatchObject({ code: 'settlement_failed', payment: { status: 'refused' } });
    expect(signatures()).toBe(2);
    expect(world.gateway.transfers).toHaveLength(0);
  });

  test('is not replaced when a new signature cannot help', async () => {
    world.gateway.moves.push('poor');
    const error = await failure(world.client().search(query));
    expect(error).toMatchObject({ reason: 'invalid_exact_evm_insufficient_balance' });
    expect(signatures()).toBe(1);
  });

  test('that was used on chain counts as paid, and is not replaced within the call', async () => {
    const client = world.client();
    world.gateway.moves.push('forget');
    const error = await failure(client.search(query));
    expect(error).toBeInstanceOf(sdk.PaymentLostError);
    expect(error).toMatchObject({ payment: { status: 'paid' } });
    expect(world.gateway.transfers).toHaveLength(1);
    await client.search(query);
    expect(world.gateway.transfers).toHaveLength(2);
  });
});

describe('caps', () => {
  test('one payment', async () => {
    world.gateway.terms = { amount: '1001' };
    const error = await failure(world.client().search(query));
    expect(error).toMatchObject({ cap: 'maxPerRequest', limitUnits: 1_000n, spentUnits: 0n });
    expect(signatures()).toBe(0);
  });

  test('a hundred searches at once under a total for ten pay ten', async () => {
    const client = world.client({ payment: { maxTotal: '0.0005' } });
    const queries = Array.from({ length: 100 }, (_, i) => `query ${i}`);
    const { responses, failures } = await client.searchMany({ queries, concurrency: 20 });
    expect(responses.size).toBe(10);
    expect(failures.size).toBe(90);
    expect(world.gateway.transfers).toHaveLength(10);
    expect(signatures()).toBe(10);
  });

  test('two clients that share a file share its caps', async () => {
    const path = join(directory, 'payments.jsonl');
    const clients = [1, 2, 3, 4].map(() =>
      world.client({ payment: { maxTotal: 500n, store: new FileStore(path) } }),
    );
    const calls = clients.flatMap((client, i) =>
      Array.from({ length: 6 }, (_, j) => client.search({ query: `query ${i} ${j}` })),
    );
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(world.gateway.transfers).toHaveLength(10);
  });

  test('hold against a gateway that takes the money and says that it did not', async () => {
    const client = world.client({ payment: { maxTotal: 200n } });
    world.gateway.moves.push(...Array<'lie'>(50).fill('lie'));
    for (let i = 0; i < 10; i += 1) await failure(client.search({ query: `query ${i}` }));
    expect(world.gateway.transfers.reduce((sum, one) => sum + one.amountUnits, 0)).toBe(200);
    expect(signatures()).toBe(4);
  });

  test('a day is any 24 hours', async () => {
    const store = new sdk.MemoryStore();
    let nowMs = Date.now() - 25 * 3_600_000;
    const runtime = { ...world.runtime, nowMs: () => nowMs };
    const { account: wallet, proxy } = world;
    const payment = { maxPerDay: 50n, store };
    const options = { wallet, baseUrl: proxy.url, payment, logLevel: 'off' } as const;
    const client = clientWith(runtime, options);
    // Yesterday's clock signs a window that has passed, so this payment is refused; it counts.
    await failure(client.search(query));
    expect(await failure(client.search({ query: 'falcon' }))).toMatchObject({ cap: 'maxPerDay' });
    nowMs = Date.now();
    await client.search({ query: 'falcon' });
    expect(await failure(client.search(query))).toMatchObject({ cap: 'maxPerDay' });
  });
});

describe('allow-lists', () => {
  const payTo = '0x2222222222222222222222222222222222222222';
  test.each([
    [{ network: 'eip155:84532' }, /network eip155:84532/],
    [{ asset: payTo }, /asset 0x2222/],
    [{ extra: { name: 'Other Coin', version: '2' } }, /names the token "Other Coin"/],
    [{ scheme: 'upto' }, /no payment method this package supports/],
    [{ amount: '0x10' }, /no payment method this package supports/],
    [{ extra: { name: 'USD Coin', version: '2', paymentFlow: 'upfront' } }, /no payment method/],
  ])('by default refuse %j', async (terms, reason) => {
    world.gateway.terms = terms;
    const error = await failure(world.client().search(query));
    expect(error).toBeInstanceOf(sdk.PaymentNotAllowedError);
    expect((error as Error).message).toMatch(reason);
    expect(signatures()).toBe(0);
  });

  test('a listed payee is paid, any other is not', async () => {
    const payees = [world.gateway.url, '0x1111111111111111111111111111111111111111'];
    await world.client({ payment: { payees } }).search(query);
    const error = await failure(world.client({ payment: { payees: [payTo] } }).search(query));
    expect(error).toBeInstanceOf(sdk.PaymentNotAllowedError);
    expect(world.gateway.transfers).toHaveLength(1);
  });

  test('the caller is asked before each signature', async () => {
    const asked: string[] = [];
    const approve = ({ amountUsd }: sdk.Quote) => asked.push(amountUsd) > 1;
    const client = world.client({ payment: { approve } });
    expect(await failure(client.search(query))).toBeInstanceOf(sdk.PaymentError);
    expect(signatures()).toBe(0);
    await client.search(query);
    expect(asked).toEqual(['0.00005', '0.00005']);
  });

  test('a window that is too long is signed for an hour at the most', async () => {
    world.gateway.terms = { maxTimeoutSeconds: 1e9 };
    const client = world.client();
    await failure(client.search(query));
    const [payment] = await client.payments.list();
    expect((payment?.validBefore ?? 0) - Date.now() / 1000).toBeLessThan(3_602);
  });

  test('a clock that is minutes wrong pays by the clock of the server', async () => {
    const runtime = { ...world.runtime, nowMs: () => Date.now() - 10 * 60_000 };
    const { account: wallet, proxy } = world;
    const payment = { store: new sdk.MemoryStore() };
    await clientWith(runtime, { wallet, payment, baseUrl: proxy.url }).search(query);
    expect(world.gateway.transfers).toHaveLength(1);
  });
});
