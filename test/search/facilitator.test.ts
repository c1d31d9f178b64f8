import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { readConfig } from '../../gateway/wiring/config.js';
import { ConfigError } from '../../gateway/ground/setting-kinds.js';
import { createLog } from '../../gateway/ground/observe/log.js';
import { type Service, startService } from '../../gateway/wiring/service.js';
import { audit, openBooks } from '../support/audit.js';
import { startTestChain, type TestChain } from '../support/chain.js';
import { type FakeSearchCore, startFakeSearchCore } from '../support/fake-search-core.js';
import { startFacilitator, type TestFacilitator } from '../support/facilitator.js';
import { type Attempt, insist, newAttempt, PAYERS_PUBLIC_URL } from '../support/payer-client.js';

const TOKEN = 'a-token-of-the-facilitator';
let chain: TestChain;
let core: FakeSearchCore;
let facilitator: TestFacilitator;
let dataDir: string;
const services: Service[] = [];

beforeAll(async () => {
  chain = await startTestChain();
  core = await startFakeSearchCore();
});
afterAll(async () => {
  await core.stop();
  await chain.stop();
});
beforeEach(async () => {
  facilitator = await startFacilitator(chain, { token: TOKEN });
  dataDir = await mkdtemp(join(tmpdir(), 'search402-facilitator-'));
});
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop();
  await facilitator.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const settings = (more: Record<string, string> = {}) => ({
  PORT: '0',
  API_PORT: '0',
  OPS_PORT: '0',
  DATA_DIR: dataDir,
  LOG_LEVEL: 'silent',
  SEARCH_CORE_URL: core.url,
  PUBLIC_URL: PAYERS_PUBLIC_URL,
  RPC_URLS: chain.rpcUrl,
  PAY_TO: chain.payTo,
  FACILITATOR_URL: facilitator.url,
  FACILITATOR_TOKEN: TOKEN,
  DRAIN_DELAY_MS: '0',
  DRAIN_TIMEOUT_MS: '0',
  ...more,
});

async function start(more: Record<string, string> = {}): Promise<Service> {
  const service = await startService(
    readConfig(settings(more), []),
    createLog('silent'),
    (error) => {
      throw error;
    },
  );
  services.push(service);
  return service;
}

const payer = () => chain.newPayer({ usdc: 100n });

describe('a service without a relayer of its own', () => {
  test('sells searches through the official facilitator, and its books agree with the chain', async () => {
    const { facts } = await start();
    const attempts: Attempt[] = [];
    for (const one of await chain.newPayers(5, { usdc: 50n })) {
      attempts.push(await newAttempt(one, chain.payTo));
    }
    await Promise.all(attempts.map((attempt) => insist(facts.gatewayUrl, attempt)));
    expect(attempts.map(({ delivered }) => delivered !== undefined)).toEqual(
      attempts.map(() => true),
    );
    expect(facilitator.calls('verify')).toBeGreaterThanOrEqual(5);
    expect(facilitator.calls('settle')).toBeGreaterThanOrEqual(5); // a late one is asked again
    const books = await openBooks(join(dataDir, 'search402.db'));
    const { violations, settled, open } = await audit(chain, books, attempts);
    await books.close();
    // The nonces on the chain are the facilitator's, of which our books know nothing.
    expect(violations.filter((violation) => !violation.includes('nonces of the relayer'))).toEqual(
      [],
    );
    expect({ settled, open }).toEqual({ settled: 5, open: 0 });

    const [first] = attempts;
    if (!first) throw new Error('no payment');
    const again: Attempt = { ...first };
    await insist(facts.gatewayUrl, again);
    expect(again.delivered).toEqual(first.delivered);
    expect(facilitator.calls('settle')).toBeGreaterThanOrEqual(5); // a late one is asked again
  });

  test('refuses before the search what the facilitator refuses, with its reason', async () => {
    const { facts } = await start();
    const searches = core.seen.length;
    facilitator.always('verify', 'refuse');
    const attempt = await newAttempt(await payer(), chain.payTo);
    await insist(facts.gatewayUrl, attempt);
    expect(attempt.refused).toBe('402 payment_invalid');
    expect(core.seen.length).toBe(searches);
    expect(facilitator.calls('settle')).toBe(0);
  });

  test('starts while the facilitator is away, takes keyed searches only, and paid ones when it is back', async () => {
    facilitator.always('supported', 'error');
    const { facts } = await start();
    const ready = () => fetch(`${facts.opsUrl}/readyz/payments`);
    expect((await ready()).status).toBe(503);
    expect((await fetch(`${facts.gatewayUrl}/readyz/payments`)).status).toBe(503);
    expect((await fetch(`${facts.gatewayUrl}/readyz`)).status).toBe(200);
    const attempt = await newAttempt(await payer(), chain.payTo);
    const outcome = insist(facts.gatewayUrl, attempt);
    facilitator.always('supported', 'honest');
    await outcome;
    expect(attempt.delivered).toBeDefined();
    expect((await ready()).status).toBe(200);
  });

  test('does not start with one that does not settle on this chain', async () => {
    const elsewhere = await startFacilitator(chain, { network: 'eip155:84532' });
    await expect(start({ FACILITATOR_URL: elsewhere.url })).rejects.toThrow(
      /does not settle scheme "exact"/,
    );
    await elsewhere.stop();
  });
});

describe('settings', () => {
  const problems = (more: Record<string, string>) => {
    try {
      readConfig(settings(more), []);
    } catch (error) {
      if (error instanceof ConfigError) return error.problems.join('\n');
      throw error;
    }
    return '';
  };

  test.each<[string, Record<string, string>, RegExp]>([
    [
      'a relayer, too',
      { RELAYER_PRIVATE_KEY: `0x${'11'.repeat(32)}` },
      /leave out FACILITATOR_URL/,
    ],
    ['neither', { FACILITATOR_URL: '', FACILITATOR_TOKEN: '' }, /FACILITATOR_URL is missing/],
    ['a token alone', { FACILITATOR_URL: '' }, /FACILITATOR_TOKEN belongs to FACILITATOR_URL/],
    ['an address that is none', { FACILITATOR_URL: 'ftp://x' }, /FACILITATOR_URL: must be an http/],
    ['a token with a line end', { FACILITATOR_TOKEN: 'a\nb' }, /FACILITATOR_TOKEN: must be print/],
  ])('with %s are refused by name', (_what, more, text) => {
    expect(problems(more)).toMatch(text);
    expect(problems(more)).not.toContain(TOKEN);
  });
});
