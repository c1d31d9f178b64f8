import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../sdk/typescript/src/cli/run.js';
import { GOOD_KEY } from '../support/sdk-gateway.js';
import { startSdkWorld, type SdkWorld } from '../support/sdk.js';
import { startSite, type Site } from '../support/site.js';

const PRIVATE_KEY = '42'.repeat(32);
const WALLET = { SEARCH402_PRIVATE_KEY: PRIVATE_KEY };

interface Finding {
  readonly name: string;
  readonly status: string;
  readonly detail: string;
  readonly fix?: string;
}

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'search402-doctor-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function cli(line: string, env: Record<string, string>) {
  const out: string[] = [];
  const note = (text: string) => void out.push(text);
  const store = { SEARCH402_STORE: join(directory, 'payments.jsonl') };
  const io = { out: note, err: note, env: { ...store, ...env } };
  const code = await run(line.split(' '), '1.2.3', io);
  return { code, out: out.join('\n') };
}

async function doctor(url: string, env: Record<string, string> = {}, more = '') {
  const { code, out } = await cli(`doctor --json --base-url ${url}${more}`, env);
  const { ok, findings } = JSON.parse(out) as { ok: boolean; findings: Finding[] };
  expect(code).toBe(ok ? 0 : 1);
  expect(ok).toBe(findings.every(({ status }) => status !== 'fail'));
  return { out, found: (name: string) => findings.find((finding) => finding.name === name) };
}

/** An address where nobody listens. */
async function nowhere(): Promise<string> {
  const site = await startSite();
  await site.close();
  return site.origin;
}

/** A service, and an endpoint of a chain, that answer as they are told. */
interface Patient {
  /** Of `POST /search` without a key. */
  readonly search?: number;
  readonly offer?: object | 'unreadable';
  /** Seconds by which the service's clock is ahead; `none`: it does not tell. */
  readonly ahead?: number | 'none';
  readonly ready?: number;
  /** Of `POST /search` with a key. */
  readonly keyed?: number;
  readonly credits?: number;
  readonly chainId?: number;
  readonly blockAgeSeconds?: number;
  readonly units?: number;
  readonly rpc?: 'broken';
}

const offer = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '50',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: `0x${'11'.repeat(20)}`,
  maxTimeoutSeconds: 300,
  extra: { name: 'USD Coin', version: '2' },
};

function serve(site: Site, patient: Patient): void {
  const { search = 402, ahead = 0, ready = 200, keyed = 422, credits = 7 } = patient;
  const reply = (response: ServerResponse, status: number, body: object, headers = {}) => {
    if (ahead === 'none') response.sendDate = false;
    else response.setHeader('date', new Date(Date.now() + ahead * 1000).toUTCString());
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
  const changed = typeof patient.offer === 'object' ? patient.offer : {};
  const challenge = { x402Version: 2, resource: {}, accepts: [{ ...offer, ...changed }] };
  const text = Buffer.from(JSON.stringify(challenge)).toString('base64');
  const quote = patient.offer === 'unreadable' ? 'nonsense' : text;
  site.page('/search', ({ headers }, response) => {
    const status = headers.authorization === undefined ? search : keyed;
    const body = { title: '', status, detail: 'No.', requestId: 'x', code: 'payment_required' };
    reply(response, status, body, status === 402 ? { 'payment-required': quote } : {});
  });
  site.page('/readyz', (_request, response) => reply(response, ready, {}));
  site.page('/account', (_request, response) =>
    reply(response, 200, { credits: { available: credits } }),
  );
  site.page('/rpc', (request, response) => {
    let sent = '';
    request.on('data', (chunk: Buffer) => (sent += chunk.toString()));
    request.on('end', () => {
      const { method } = JSON.parse(sent) as { method: keyof typeof answers };
      const { chainId = 8453, blockAgeSeconds = 1, units = 100 } = patient;
      const answers = {
        eth_chainId: chainId,
        eth_getBlockByNumber: Math.floor(Date.now() / 1000) - blockAgeSeconds,
        eth_call: units,
      };
      const hex = `0x${answers[method].toString(16)}`;
      const result = method === 'eth_getBlockByNumber' ? { timestamp: hex } : hex;
      const error = { message: 'the node is syncing' };
      reply(response, 200, patient.rpc === 'broken' ? { error } : { result });
    });
  });
}

describe('the doctor says what is wrong and what to do', () => {
  let site: Site;
  beforeEach(async () => {
    site = await startSite();
  });
  afterEach(() => site.close());

  const cases: readonly (readonly [string, Patient, string, string, RegExp, RegExp | undefined])[] =
    [
      ['address', {}, 'ok', 'that answers', /\/search answers$/, undefined],
      ['address', { search: 404 }, 'fail', 'of another server', /status 404/, /--base-url/],
      ['clock', {}, 'ok', 'that is right', /^this machine is \d+ s (ahead of|behind)/, undefined],
      ['clock', { ahead: 120 }, 'warn', 'two minutes late', /\d+ s behind/, /NTP/],
      ['clock', { ahead: -3600 }, 'fail', 'an hour early', /3\d{3} s ahead of/, /NTP/],
      ['clock', { ahead: 'none' }, 'skip', 'nobody tells', /didn’t send/, undefined],
      ['index', {}, 'ok', 'that is ready', /service is ready/, undefined],
      ['index', { ready: 503 }, 'fail', 'that is not ready', /isn’t ready/, /operator/],
      ['index', { ready: 404 }, 'skip', 'nobody tells of', /unknown/, undefined],
      ['key', {}, 'ok', 'that is known', /key works; 7 credits left/, undefined],
      ['key', { keyed: 401 }, 'fail', 'that is not known', /doesn’t know/, /create a new one/],
      ['key', { keyed: 402 }, 'fail', 'without credits', /no credits left/, /Add credits/],
      [
        'key',
        { keyed: 403 },
        'fail',
        'that is shut out',
        /isn’t allowed to search/,
        /Check the plan/,
      ],
      ['key', { keyed: 429 }, 'warn', 'that is too fast', /rate limit/, /Slow down/],
      ['key', { keyed: 500 }, 'fail', 'of a broken service', /status 500/, /later/],
      ['price', {}, 'ok', 'in USDC on Base', /^0\.00005 USD a search, to 0x1{40}$/, undefined],
      ['price', { search: 401 }, 'skip', 'of keys alone', /accepts API keys only/, undefined],
      [
        'price',
        { offer: { network: 'eip155:1' } },
        'fail',
        'of other money',
        /instead of USDC on Base/,
        /Don’t pay/,
      ],
      ['price', { offer: 'unreadable' }, 'fail', 'in a foreign form', /no quote/, /Update/],
      ['price', { search: 500 }, 'fail', 'of a broken service', /no quote/, /later/],
      ['chain', {}, 'ok', 'that is Base', /^chain 8453, newest block [0-9]+ s old$/, undefined],
      ['chain', { chainId: 1 }, 'fail', 'that is another', /chain 1, not eip155:8453/, /--rpc-url/],
      ['chain', { blockAgeSeconds: 600 }, 'fail', 'that stands', /6\d\d s old/, /another endpoint/],
      ['chain', { rpc: 'broken' }, 'fail', 'that fails', /node is syncing/, /--rpc-url/],
      ['balance', {}, 'ok', 'for two searches', /^0\.0001 USDC, enough for 2 searches/, undefined],
      ['balance', { units: 49 }, 'fail', 'for none', /enough for 0 searches/, /Send some USDC/],
      ['balance', { rpc: 'broken' }, 'fail', 'that cannot be read', /syncing/, /--rpc-url/],
    ];
  test.each(cases)('%s %j: %s (%s)', async (name, patient, status, _what, detail, fix) => {
    serve(site, patient);
    const env = { ...WALLET, SEARCH402_API_KEY: GOOD_KEY };
    const options = ` --rpc-url ${site.origin}/rpc --max-retries 0`;
    const { found, out } = await doctor(site.origin, env, options);
    const finding = found(name);
    expect(finding).toMatchObject({ status, detail: expect.stringMatching(detail) as unknown });
    if (fix) expect(finding?.fix).toMatch(fix);
    else expect(finding?.fix).toBeUndefined();
    for (const secret of [PRIVATE_KEY, GOOD_KEY]) expect(out).not.toContain(secret);
  });

  test('what was not given is skipped, and the doctor says how to give it', async () => {
    serve(site, {});
    const { found } = await doctor(site.origin);
    for (const [name, how] of [
      ['key', /--key-file/],
      ['chain', /--rpc-url/],
      ['balance', /no wallet/],
      ['wallet', /--wallet-file/],
    ] as const) {
      const detail = expect.stringMatching(how) as unknown;
      expect(found(name)).toMatchObject({ status: 'skip', detail });
    }
  });

  test('an address without encryption is warned of, unless it is this machine', async () => {
    serve(site, {});
    const elsewhere = site.origin.replace('127.0.0.1', '0.0.0.0');
    expect((await doctor(elsewhere)).found('address')).toMatchObject({
      status: 'warn',
      fix: expect.stringContaining('https') as unknown,
    });
  });

  test('an endpoint that cannot be reached is named with its reason', async () => {
    serve(site, {});
    const { found } = await doctor(site.origin, WALLET, ` --rpc-url ${await nowhere()}`);
    for (const name of ['chain', 'balance']) {
      expect(found(name)).toMatchObject({
        status: 'fail',
        detail: expect.stringMatching(/ECONNREFUSED/) as unknown,
      });
      expect(found(name)?.fix).toContain('--rpc-url');
    }
  });

  test('a wallet that is none is named without being repeated', async () => {
    serve(site, {});
    const { found, out } = await doctor(site.origin, { SEARCH402_PRIVATE_KEY: 'hunter2' });
    expect(found('wallet')).toMatchObject({ status: 'fail' });
    expect(found('wallet')?.detail).toMatch(/32 bytes of hex/);
    expect(out).not.toContain('hunter2');
  });

  test('people see a mark, the finding, and what to do below it', async () => {
    serve(site, { keyed: 401 });
    const env = { SEARCH402_API_KEY: 'wrong' };
    const { out } = await cli(`doctor --base-url ${site.origin}`, env);
    expect(out).toMatch(/^✓ address /m);
    expect(out).toMatch(/^✗ key {7}the service doesn’t know this key\n +→ Copy it again/m);
    expect(out).toMatch(/^- wallet /m);
  });
});

describe('the doctor at a gateway', () => {
  let world: SdkWorld;
  beforeEach(async () => {
    world = await startSdkWorld();
  });
  afterEach(() => world.close());

  test('says when nothing answers, and what to do', async () => {
    const url = await nowhere();
    const { found } = await doctor(url);
    expect(found('address')).toMatchObject({
      status: 'fail',
      detail: `${url}/search isn’t answering: connect ECONNREFUSED ${new URL(url).host}`,
      fix: 'Start the service, or fix --base-url.',
    });
  });

  test('names a wallet file that others read, and payments that are open', async () => {
    const file = join(directory, 'wallet');
    writeFileSync(file, PRIVATE_KEY);
    chmodSync(file, 0o644);
    world.proxy.faults.push({ kind: 'pass' }, { kind: 'drop-after' });
    const { url } = world.proxy;
    await cli(`pay kestrel --max-retries 0 --base-url ${url} --wallet-file ${file}`, {});
    const { found } = await doctor(url, {}, ` --wallet-file ${file}`);
    expect(found('wallet')).toMatchObject({ status: 'warn', fix: `chmod 600 ${file}` });
    expect(found('payments')).toMatchObject({
      status: 'warn',
      detail: expect.stringMatching(/1 payment with an unknown outcome/) as unknown,
      fix: expect.stringContaining('They resend the same payments') as unknown,
    });
    chmodSync(file, 0o600);
    const address = expect.stringMatching(/^0x[0-9a-fA-F]{40}$/) as unknown;
    const again = await doctor(url, {}, ` --wallet-file ${file}`);
    expect(again.found('wallet')).toMatchObject({ status: 'ok', detail: address });
  });
});
