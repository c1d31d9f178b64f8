import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DevUsdc as artifact } from '../../contracts-abi/artifacts/DevUsdc.js';
import type { DevFacts } from '../../gateway/dev/facts.js';
import { startTestChain } from '../support/chain.js';
import { runGateway, written } from '../support/gateway-process.js';

const DevUsdc: string = artifact.runtimeCode;

describe('a first start, and a second', () => {
  let dataDir: string;
  let first: DevFacts;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'search402-start-'));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  const start = async () => {
    const service = runGateway({ DATA_DIR: dataDir });
    await written(service, 'Stop with Ctrl-C');
    const facts = JSON.parse(await readFile(join(dataDir, 'dev.json'), 'utf8')) as DevFacts;
    return { service, facts };
  };
  const search = (facts: DevFacts) =>
    fetch(`${facts.gatewayUrl}/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${facts.apiKey}` },
      body: JSON.stringify({ query: 'viem', maxResults: 1 }),
    });
  const isAnswering = (url: string) =>
    fetch(url, { method: 'POST', body: '{}' }).then(
      () => true,
      () => false,
    );

  test('tells a person where it is and what to try, and writes the facts for scripts', async () => {
    const { service, facts } = await start();
    first = facts;
    for (const text of [facts.gatewayUrl, 'npm run pay', facts.apiKey, 'worthless', dataDir]) {
      expect(service.output()).toContain(text);
    }
    expect(facts).toMatchObject({
      gatewayUrl: expect.stringMatching(/^http:/),
      rpcUrl: expect.stringMatching(/^http:/),
      asset: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      payerPrivateKey: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    });
    const response = await search(facts);
    const body = (await response.json()) as { result: { results: { url: string }[] } };
    expect(body.result.results[0]?.url).toBe('https://www.npmjs.com/package/viem');

    service.process.kill('SIGTERM');
    expect(await service.exited).toBe(0);
    expect(await isAnswering(facts.rpcUrl)).toBe(false);
    expect(await isAnswering(facts.gatewayUrl)).toBe(false);
  });

  test('keeps its key, its wallet and its index, and does not build the index again', async () => {
    const { service, facts } = await start();
    expect(service.output()).not.toContain('packages');
    expect({ ...facts, gatewayUrl: '', apiUrl: '', rpcUrl: '' }).toEqual({
      ...first,
      gatewayUrl: '',
      apiUrl: '',
      rpcUrl: '',
    });
    expect((await search(facts)).status).toBe(200);
    service.process.kill('SIGINT');
    expect(await service.exited).toBe(0);
  });
});

describe('settings that cannot be used', () => {
  const KEY = `0x${'11'.repeat(32)}`;
  const PAY_TO = `0x${'22'.repeat(20)}`;

  test.each<[string, Record<string, string>, RegExp[]]>([
    ['RPC_URLS alone', { RPC_URLS: 'http://127.0.0.1:1' }, [/PAY_TO is missing/, /RELAYER/]],
    ['a payee alone', { PAY_TO }, [/RPC_URLS is missing/, /RELAYER_PRIVATE_KEY,? .* is missing/]],
    ['no payee', { RPC_URLS: 'http://127.0.0.1:1', RELAYER_PRIVATE_KEY: KEY }, [/PAY_TO is miss/]],
    ['a port that is none', { PORT: 'http' }, [/PORT: must be a whole number/]],
    ['a price of nothing', { PRICE_USD: '0' }, [/PRICE_USD: must be dollars above 0/]],
  ])('refuses to start with %s, and names what is wrong', async (_what, env, texts) => {
    const service = runGateway({ DATA_DIR: join(tmpdir(), 'search402-never'), ...env });
    expect(await service.exited).toBe(1);
    for (const text of texts) expect(service.output()).toMatch(text);
    expect(service.output()).not.toContain(KEY);
    expect(existsSync(join(tmpdir(), 'search402-never', 'dev.json'))).toBe(false);
  });

  test('refuses to start on a chain of another id', async () => {
    const rpc = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on('end', () => {
        const answer = ({ id }: { id: number }) => ({ jsonrpc: '2.0', id, result: '0x1' });
        const asked = JSON.parse(body) as { id: number } | { id: number }[];
        response.end(JSON.stringify(Array.isArray(asked) ? asked.map(answer) : answer(asked)));
      });
    });
    await new Promise<void>((resolve) => {
      rpc.listen(0, '127.0.0.1', resolve);
    });
    const url = `http://127.0.0.1:${(rpc.address() as AddressInfo).port}`;
    expect(await refusedStart(url)).toMatch(/chain id 1 instead of 8453/);
    rpc.close();
  });

  test('refuses to start where the token is not USDC, or has another domain', async () => {
    const chain = await startTestChain();
    await chain.client.setCode({ address: chain.asset, bytecode: '0x00' });
    expect(await refusedStart(chain.rpcUrl)).toMatch(/doesn’t behave like USDC/);
    // The development token with one letter of its name changed: another EIP-712 domain.
    const name = Buffer.from('USD Coin').toString('hex');
    const other = DevUsdc.replaceAll(name, Buffer.from('USD Corn').toString('hex'));
    expect(other).not.toBe(DevUsdc);
    await chain.client.setCode({ address: chain.asset, bytecode: other as `0x${string}` });
    expect(await refusedStart(chain.rpcUrl)).toMatch(/"USD Coin" \/ "2" is expected/);
    await chain.stop();
  });

  async function refusedStart(rpcUrl: string): Promise<string> {
    const dataDir = await mkdtemp(join(tmpdir(), 'search402-preflight-'));
    const service = runGateway({
      RPC_URLS: rpcUrl,
      RELAYER_PRIVATE_KEY: KEY,
      PAY_TO,
      DATA_DIR: dataDir,
      SEARCH_CORE_URL: 'http://127.0.0.1:1',
    });
    expect(await service.exited).toBe(1);
    expect(service.output()).not.toContain(KEY);
    await rm(dataDir, { recursive: true, force: true });
    return service.output();
  }

  test('--help says what there is', async () => {
    const service = runGateway({}, { args: ['--help'] });
    expect(await service.exited).toBe(0);
    expect(service.output()).toContain('--fork URL');
  });
});
