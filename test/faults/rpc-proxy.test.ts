import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { keccak256, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import {
  ChainUnreachable,
  createChainClient,
  RpcError,
  type ChainClient,
} from '../../gateway/money/chain/client.js';
import { startTestChain, type TestChain } from '../support/chain.js';
import { memoryLog } from '../support/log.js';
import { realClock, realRandom } from '../support/ports.js';
import {
  delay,
  duplicate,
  httpStatus,
  huge,
  lies,
  malformed,
  reset,
  resetAfter,
  rpcError,
  startRpcProxy,
  swallow,
  swallowAnswer,
  truncated,
  type Fault,
  type RpcProxy,
} from '../support/rpc-proxy.js';
import { until } from '../support/until.js';

let chain: TestChain;
let bad: RpcProxy;
let good: RpcProxy;
const clients = new Set<ChainClient>();
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());
beforeEach(async () => {
  bad = await startRpcProxy(chain.rpcUrl);
  good = await startRpcProxy(chain.rpcUrl);
});
afterEach(async () => {
  for (const client of clients) await client.close();
  clients.clear();
  await Promise.all([bad.stop(), good.stop()]);
});

function clientOf(proxies: readonly RpcProxy[], counted?: string[]) {
  const log = memoryLog();
  const client = createChainClient({
    urls: proxies.map(({ url }) => url),
    chainId: 8453,
    clock: realClock,
    random: realRandom,
    log,
    onCall: (method) => counted?.push(method),
  });
  clients.add(client);
  const standings = () => client.endpoints().map(({ standing }) => standing);
  return { client, log, standings };
}

const kindOf = (failure: Promise<unknown>): Promise<unknown> =>
  failure.then(
    (value) => ({ value }),
    (error: unknown) => (error instanceof ChainUnreachable ? error.kind : error),
  );

/** A signed transfer of ether between fresh nonces of the relayer. */
async function signedTransfer(): Promise<Hex> {
  const account = privateKeyToAccount(chain.relayerPrivateKey);
  return account.signTransaction({
    chainId: 8453,
    nonce: await chain.client.getTransactionCount({ address: chain.relayerAddress }),
    to: chain.payTo,
    value: 1n,
    gas: 21_000n,
    maxFeePerGas: 10_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  });
}

describe('one endpoint', () => {
  test.each<[string, Fault, string]>([
    ['a reset connection', reset, 'connection'],
    ['silence', swallow, 'timeout'],
    ['an answer that is lost', swallowAnswer, 'timeout'],
    ['HTTP 502', httpStatus(502), 'http'],
    ['HTML', malformed, 'malformed'],
    ['half an answer', truncated, 'malformed'],
    ['9 MiB', huge, 'too-large'],
    ['a word for a number', lies.word, 'lie'],
  ])('%s is classified, within the deadline', async (_, fault, kind) => {
    const { client } = clientOf([bad]);
    await client.request('eth_blockNumber', []);
    bad.rules([{ method: 'eth_blockNumber', fault }]);
    const started = performance.now();
    const deadlineMs = kind === 'timeout' ? 400 : 10_000;
    expect(await kindOf(client.request('eth_blockNumber', [], { deadlineMs }))).toBe(kind);
    expect(performance.now() - started).toBeLessThan(deadlineMs + 3_000);
  });

  test("the node's own refusal comes with its code, message and data", async () => {
    const { client } = clientOf([good]);
    const failure = client.request('eth_sendRawTransaction', ['0x00']);
    await expect(failure).rejects.toBeInstanceOf(RpcError);
    await expect(failure).rejects.toMatchObject({ code: -32602 });
  });

  test('an endpoint of another chain is never used', async () => {
    bad.rules([{ fault: lies.chainId(1) }]);
    const { client } = clientOf([bad]);
    const failure = client.request('eth_blockNumber', []);
    await expect(failure).rejects.toThrow(/chain id 1 instead of 8453/);
    expect(bad.calls('eth_blockNumber')).toBe(0);
  });

  test('after five failures every call fails at once, and a probe brings it back', async () => {
    const { client, standings } = clientOf([bad]);
    await client.request('eth_blockNumber', []);
    bad.rules([{ fault: reset }]);
    for (let i = 0; i < 2; i++) {
      expect(await kindOf(client.request('eth_blockNumber', []))).toBe('connection');
    }
    const before = bad.calls();
    for (let i = 0; i < 20; i++) {
      expect(await kindOf(client.request('eth_blockNumber', []))).toBe('unavailable');
    }
    expect(bad.calls()).toBe(before);
    expect(standings()).toEqual(['cooling']);

    bad.rules([]);
    await until(() => standings()[0] !== 'cooling');
    expect(await client.request('eth_blockNumber', [])).toMatch(/^0x/);
    expect(standings()).toEqual(['ready']);
  });

  test('an unavailable chain says when to come back, and no address, which may hold a key', async () => {
    bad.isDown = true;
    const { client } = clientOf([bad]);
    await client.request('eth_blockNumber', []).catch(() => undefined);
    const error: unknown = await client.request('eth_blockNumber', []).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ChainUnreachable);
    const { kind, retryAfterSeconds, message } = error as ChainUnreachable;
    expect(kind).toBe('unavailable');
    expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
    expect(message).not.toContain(bad.url);
  });

  test('calls of one turn travel as one batch, and singly where batches are unknown', async () => {
    const counted: string[] = [];
    const { client } = clientOf([good], counted);
    await client.request('eth_chainId', []);
    counted.length = 0;
    const results = await Promise.all([
      client.request('eth_chainId', []),
      client.request('eth_blockNumber', []),
      client.request('eth_getBalance', [chain.relayerAddress, 'latest']),
    ]);
    expect(results[0]).toBe('0x2105');
    expect(counted).toEqual(['eth_chainId', 'eth_blockNumber', 'eth_getBalance']);

    const plain = await startRpcProxy(chain.rpcUrl, { batches: false });
    const singly = clientOf([plain]);
    expect(await singly.client.request('eth_chainId', [])).toBe('0x2105');
    await plain.stop();
  });
});

describe('two endpoints', () => {
  test.each<[string, Fault]>([
    ['resets', reset],
    ['stays silent', swallow],
    ['answers HTTP 502', httpStatus(502)],
    ['answers HTML', malformed],
    ['breaks off', truncated],
    ['sends 9 MiB', huge],
    ['is overloaded', rpcError(-32005, 'limit exceeded')],
    ['is slow', delay(60_000)],
  ])('a read is answered in time although one of them %s', async (_, fault) => {
    const { client } = clientOf([bad, good]);
    await ready(client);
    bad.rules([{ fault }]);
    for (let i = 0; i < 6; i++) {
      const started = performance.now();
      expect(await client.request('eth_blockNumber', [], { deadlineMs: 30_000 })).toMatch(/^0x/);
      expect(performance.now() - started).toBeLessThan(15_000);
    }
  });

  test.each([
    ['behind', lies.blockTime(-120)],
    ['of the future', lies.blockTime(3_600)],
  ])('one whose blocks are %s is left', async (_, fault) => {
    const { client, log, standings } = clientOf([bad, good]);
    bad.rules([{ method: 'eth_getBlockByNumber', fault }]);
    await client.request('eth_chainId', []);
    // Both have been looked at once the slower probe is through as well.
    await until(() => !standings().includes('due'));
    expect(standings()).toEqual(['cooling', 'ready']);
    expect(log.messages).toContain('an RPC endpoint is left for a while');
  });

  test('a receipt that only one of them knows does not count', async () => {
    const { client } = clientOf([bad, good]);
    await ready(client);
    bad.rules([{ fault: lies.receipt }]);
    for (let i = 0; i < 10; i++) {
      const hash = keccak256(`0x${i.toString(16).padStart(4, '0')}`);
      expect(await client.request('eth_getTransactionReceipt', [hash])).toBeNull();
    }
  });

  test("another transaction's receipt makes the endpoint be left, and the other one answers", async () => {
    const raw = await signedTransfer();
    const { client, standings } = clientOf([bad, good]);
    await ready(client);
    const hash = await client.request('eth_sendRawTransaction', [raw]);
    await chain.client.waitForTransactionReceipt({ hash: hash as Hex });
    bad.rules([{ method: 'eth_getTransactionReceipt', fault: lies.otherReceipt }]);
    expect(await client.request('eth_getTransactionReceipt', [hash])).toMatchObject({
      transactionHash: hash,
    });
    expect(standings()).toEqual(['cooling', 'ready']);
  });

  test('state at a given block on which they disagree decides nothing', async () => {
    const { client } = clientOf([bad, good]);
    await ready(client);
    bad.rules([{ method: 'eth_call', fault: lies.zero }]);
    const block = await client.request('eth_blockNumber', []);
    const decimals = [{ to: chain.asset, data: '0x313ce567' }, block];
    expect(await kindOf(client.request('eth_call', decimals))).toBe('disagreement');
    bad.rules([]);
    expect(await client.request('eth_call', decimals)).toBe(`0x${'6'.padStart(64, '0')}`);
  });

  test.each<[string, Fault]>([
    ['swallows it', swallow],
    ['takes it and resets', resetAfter],
    ['takes it twice', duplicate],
    ['says it knows it already', lies.alreadyKnown],
    ['says the nonce is too low', lies.nonceTooLow],
    ['names another hash', lies.transactionHash],
  ])('a transaction reaches the chain although one of them %s', async (_, fault) => {
    const { client } = clientOf([bad, good]);
    await ready(client);
    bad.rules([{ method: 'eth_sendRawTransaction', fault }]);
    const raw = await signedTransfer();
    const hash = keccak256(raw);
    const sent = await client
      .request('eth_sendRawTransaction', [raw], { deadlineMs: 2_000 })
      .catch((error: unknown) => error);
    // Where the faulty one forwarded it first, the honest one rightly knows it, or has it mined.
    if (sent instanceof Error) expect(sent.message).toMatch(/already|nonce too low/);
    else expect(sent).toBe(hash);
    const receipt = await chain.client.waitForTransactionReceipt({ hash, timeout: 5_000 });
    expect(receipt.status).toBe('success');
  });

  test('with every fifth exchange going wrong on both, 300 reads are answered', async () => {
    const { client } = clientOf([bad, good]);
    await ready(client);
    const faults = [reset, malformed, truncated, delay(150), httpStatus(503)];
    for (const proxy of [bad, good]) {
      proxy.rules(faults.map((fault) => ({ fault, probability: 0.04 })));
    }
    let answered = 0;
    for (let i = 0; i < 300; i++) {
      const isAnswered = await client.request('eth_blockNumber', []).then(
        () => true,
        () => false,
      );
      if (isAnswered) answered += 1;
    }
    expect(answered).toBeGreaterThan(290);
  });
});

/** Waits until every endpoint has been probed. */
async function ready(client: ChainClient): Promise<void> {
  for (;;) {
    await client.request('eth_chainId', []);
    if (client.endpoints().every(({ standing }) => standing === 'ready')) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
