/** What the doctor finds, each finding on the real thing that has it. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseEther } from 'viem';
import { lookAtEndpoints } from '../../commands/doctor/endpoints.js';
import { examine } from '../../commands/doctor/examine.js';
import type { Finding } from '../../commands/doctor/finding.js';
import { startTestChain, type TestChain } from '../support/chain.js';
import { startFakeSearchCore, type FakeSearchCore } from '../support/fake-search-core.js';
import { lies, startRpcProxy, type RpcProxy } from '../support/rpc-proxy.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { removeTemporaries, temporary } from '../support/temporary.js';

removeTemporaries();
let chain: TestChain;
let proxy: RpcProxy;
let server: TestPostgres;
let core: FakeSearchCore;
beforeAll(async () => {
  [chain, server, core] = await Promise.all([
    startTestChain({ blockTimeSeconds: 0.5 }),
    startPostgres(),
    startFakeSearchCore(),
  ]);
  proxy = await startRpcProxy(chain.rpcUrl, { seed: 1 });
});
afterAll(async () => {
  await proxy.stop();
  await core.stop();
  await chain.stop();
  await server.stop();
});

const settings = (more: Readonly<Record<string, string>> = {}) => ({
  DATA_DIR: join(temporary(), 'data'),
  PORT: '0',
  API_PORT: '0',
  OPS_PORT: '0',
  SEARCH_CORE_URL: core.url,
  RPC_URLS: `${chain.rpcUrl},${proxy.url}`,
  PAY_TO: chain.payTo,
  RELAYER_PRIVATE_KEY: chain.relayerPrivateKey,
  PRICE_COVERS_GAS: 'on',
  ...more,
});

/** What is not good, by check; each of these has a cure. */
async function found(more: Readonly<Record<string, string>>): Promise<Record<string, Finding>> {
  const findings = await examine(settings(more));
  const odd = findings.filter(({ state }) => state !== 'good');
  for (const finding of odd) expect(finding.cure).toMatch(/\w/);
  return Object.fromEntries(odd.map((finding) => [finding.check, finding]));
}

describe('the doctor says what is wrong, and what to do', () => {
  test('and finds nothing but the missing mail where all is well', async () => {
    proxy.rules([]);
    expect(Object.keys(await found({ DATABASE_URL: server.url }))).toEqual(['smtp']);
  });

  test('of settings, each by name', async () => {
    const odd = await examine({ PORT: 'x', PAY_TO: chain.payTo });
    expect(odd.map(({ said }) => said)).toEqual([expect.stringMatching(/^PORT: must be/)]);
    const missing = await examine({ PAY_TO: chain.payTo });
    expect(missing.map(({ said }) => said)).toContainEqual(
      expect.stringMatching(/^RPC_URLS is missing/),
    );
  });

  test('of an endpoint of another chain, one that is down, and one alone', async () => {
    proxy.rules([{ fault: lies.chainId(1) }]);
    expect(await found({})).toMatchObject({
      'rpc.chain': { state: 'bad', said: expect.stringContaining('serves chain 1,') },
    });
    proxy.rules([]);
    const down = await found({ RPC_URLS: `${chain.rpcUrl},http://127.0.0.1:1` });
    expect(down['rpc.answers']).toMatchObject({ state: 'bad' });
    const alone = await found({ RPC_URLS: chain.rpcUrl });
    expect(alone['rpc.count']).toMatchObject({ state: 'warning' });
  });

  test('of an endpoint that is behind, and of one on another fork', async () => {
    proxy.rules([{ fault: lies.blockTime(-60) }]);
    expect((await found({}))['rpc.lag']).toMatchObject({ state: 'warning' });
    proxy.rules([{ fault: lies.blockTime(-600) }]);
    expect((await found({}))['rpc.lag']).toMatchObject({ state: 'bad' });
    proxy.rules([
      {
        method: 'eth_getBlockByNumber',
        fault: {
          kind: 'answer',
          change: (honest) =>
            'result' in honest
              ? { result: { ...(honest.result as object), hash: `0x${'ab'.repeat(32)}` } }
              : honest,
        },
      },
    ]);
    expect((await found({}))['rpc.agreement']).toMatchObject({
      state: 'bad',
      said: expect.stringContaining('0xababababab'),
    });
    proxy.rules([]);
  });

  test('of a clock that is wrong, by what the endpoints say', async () => {
    const { port } = new URL(chain.rpcUrl);
    const at = async (offsetMs: number) => {
      const { findings } = await lookAtEndpoints(
        [`http://127.0.0.1:${port}`],
        () => Date.now() + offsetMs,
      );
      return findings.find(({ check }) => check === 'clock');
    };
    expect(await at(-60_000)).toMatchObject({
      state: 'bad',
      said: expect.stringContaining('slow'),
    });
  });

  test('of contracts that are not there', async () => {
    const empty = {
      method: 'eth_getCode',
      fault: { kind: 'answer', change: () => ({ result: '0x' }) },
    } as const;
    proxy.rules([empty]);
    const rpc = { RPC_URLS: `${proxy.url},${chain.rpcUrl}` };
    expect((await found(rpc))['contracts.multicall']).toMatchObject({ state: 'bad' });
    proxy.rules([{ method: 'eth_call', fault: lies.zero }]);
    expect((await found(rpc))['contracts.token']).toMatchObject({ state: 'bad' });
    proxy.rules([]);
  });

  test('of a relayer without gas money, and with little', async () => {
    const fill = (value: bigint) =>
      chain.client.setBalance({ address: chain.relayerAddress, value });
    await fill(parseEther('0.001'));
    expect((await found({}))['relayer.balance']).toMatchObject({
      state: 'bad',
      cure: expect.stringContaining(chain.relayerAddress),
    });
    await fill(parseEther('0.0021'));
    expect((await found({}))['relayer.runway']).toMatchObject({ state: 'warning' });
    await fill(parseEther('1000'));
  });

  test('of a price below the gas', async () => {
    const { price } = await found({ PRICE_COVERS_GAS: 'off', PRICE_USD: '0.000001' });
    expect(price).toMatchObject({
      state: 'warning',
      said: expect.stringMatching(/loses [\d.e+]+ times its price/),
      cure: expect.stringContaining('PRICE_COVERS_GAS=on'),
    });
  });

  test('of files that others may read', async () => {
    const folder = temporary();
    const key = join(folder, 'relayer.key');
    writeFileSync(key, chain.relayerPrivateKey);
    chmodSync(key, 0o644);
    const data = join(folder, 'data');
    mkdirSync(data, { mode: 0o755 });
    chmodSync(data, 0o755);
    const odd = await found({
      RELAYER_PRIVATE_KEY: '',
      RELAYER_PRIVATE_KEY_FILE: key,
      DATA_DIR: data,
    });
    expect(odd['permissions.keys']).toMatchObject({ state: 'bad' });
    expect(odd['permissions.folder']).toMatchObject({ state: 'warning' });
  });

  test('of a data folder that is a file, and a damaged database in one', async () => {
    const folder = temporary();
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect((await found({ DATA_DIR: file })).folder).toMatchObject({ state: 'bad' });
    writeFileSync(join(folder, 'search402.db'), 'no database at all, and long enough to be one');
    chmodSync(folder, 0o700);
    expect((await found({ DATA_DIR: folder })).database).toMatchObject({ state: 'bad' });
  });

  test.each([
    ['a dead port', 'postgresql://test@127.0.0.1:1/postgres', /cannot be reached/],
    ['an unknown host', 'postgresql://test@nowhere.invalid/postgres', /cannot be reached/],
  ])('of PostgreSQL at %s', async (_, url, said) => {
    expect((await found({ DATABASE_URL: url })).database).toMatchObject({
      state: 'bad',
      said: expect.stringMatching(said),
    });
  });

  test('of a database or a user that PostgreSQL does not know, and of too few connections', async () => {
    const other = await found({ DATABASE_URL: server.url.replace(/postgres$/, 'nothing') });
    expect(other.database?.said).toMatch(/database "nothing" does not exist/);
    const nobody = await found({ DATABASE_URL: server.url.replace('test@', 'nobody@') });
    expect(nobody.database?.said).toMatch(/role "nobody" does not exist/);
    const many = await found({ DATABASE_URL: server.url, DATABASE_CONNECTIONS: '500' });
    expect(many['database.connections']).toMatchObject({ state: 'warning' });
  });

  test('of a search-core that cannot search, and an index that is none', async () => {
    core.isReady = false;
    expect((await found({})).index).toMatchObject({ state: 'bad' });
    core.isReady = true;
    const folder = temporary();
    mkdirSync(join(folder, 'index'));
    chmodSync(folder, 0o700);
    const odd = await found({ SEARCH_CORE_URL: '', DATA_DIR: folder });
    expect(odd.index).toMatchObject({ state: 'bad' });
  });

  test('of a port that somebody else has, a mail server that is none, and a public address', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const port = String((other.address() as AddressInfo).port);
    const odd = await found({
      PORT: port,
      SMTP_URL: 'smtp://127.0.0.1:1',
      PUBLIC_URL: 'http://127.0.0.1:1',
    });
    other.close();
    expect(odd.ports).toMatchObject({ state: 'bad', said: expect.stringContaining(port) });
    expect(odd.smtp).toMatchObject({ state: 'bad' });
    expect(odd.public).toMatchObject({ state: 'warning' });
  });
});

describe('npm run doctor', () => {
  const DOCTOR = new URL('../../commands/doctor.js', import.meta.url).pathname;
  const run = (env: Readonly<Record<string, string>>, args: readonly string[] = []) =>
    new Promise<{ code: number; output: string }>((resolve) => {
      const given = { PATH: process.env.PATH ?? '', ...env };
      execFile(process.execPath, [DOCTOR, ...args], { env: given }, (error, stdout) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, output: stdout });
      });
    });

  test('tells people in lines and programs in JSON, and ends with 1 when something is bad', async () => {
    const well = await run(settings(), ['--json']);
    const report = JSON.parse(well.output) as { ok: boolean; findings: Finding[] };
    expect(report.findings.filter(({ state }) => state === 'bad')).toEqual([]);
    expect({ ok: report.ok, code: well.code }).toEqual({ ok: true, code: 0 });
    const ill = await run(settings({ DATABASE_URL: 'postgresql://127.0.0.1:1/x' }));
    expect(ill.code).toBe(1);
    expect(ill.output).toMatch(/^BAD {6}PostgreSQL at 127\.0\.0\.1:1 cannot be reached/m);
    expect(ill.output).toMatch(/^ {9}→ /m);
    expect(ill.output).toMatch(/\n1 bad, \d+ to look at, \d+ good\.\n$/);
  });
});
