import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../sdk/typescript/src/cli/run.js';
import * as sdk from '../../sdk/typescript/src/index.js';
import { privateKeyAccount } from '../../sdk/typescript/src/node/index.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'search402-ahead-'));
  // ETH that costs next to nothing: every refund is worth its gas.
  service = await startTestService({ env: { CHANNELS: 'on', ETH_USD: '0.0001' } });
}, 60_000);
afterAll(async () => {
  await service.stop();
  rmSync(directory, { recursive: true, force: true });
});

const payer = (payment: sdk.PaymentOptions = {}) =>
  new sdk.Search402({
    baseUrl: service.gatewayUrl,
    wallet: privateKeyAccount(service.dev.payerPrivateKey),
    payment: { payees: [service.dev.payTo], store: new sdk.MemoryStore(), ...payment },
    logLevel: 'off',
  });

describe('a pack', () => {
  test('is one payment, and a key that searches', async () => {
    const bought = await payer().buyPack();
    expect(bought).toMatchObject({
      searches: 1000,
      amountUsd: '0.05',
      payment: { status: 'paid', amountUnits: 50_000n },
    });
    const keyed = new sdk.Search402({ baseUrl: service.gatewayUrl, apiKey: bought.key });
    const { result } = await keyed.search({ query: 'lighthouse' });
    expect(result.results.length).toBeGreaterThan(0);
  });

  test('costs no more than may be paid ahead, and counts towards the day', async () => {
    const stingy = payer({ maxDeposit: '0.04' });
    await expect(stingy.buyPack()).rejects.toMatchObject({ cap: 'maxPerRequest' });
    const nearlySpent = payer({ maxPerDay: '0.06' });
    await nearlySpent.buyPack();
    await expect(nearlySpent.buyPack()).rejects.toMatchObject({ cap: 'maxPerDay' });
  });

  test('is nothing for a client without a wallet', async () => {
    const keyed = new sdk.Search402({ baseUrl: service.gatewayUrl, apiKey: 'none' });
    await expect(keyed.buyPack()).rejects.toBeInstanceOf(sdk.ConfigurationError);
  });

  test('is bought by search402 pack, whose key search402 search takes', async () => {
    const cli = async (line: string, env: Record<string, string>) => {
      const out: string[] = [];
      const code = await run(line.split(' '), '1.2.3', {
        out: (text) => void out.push(text),
        err: (text) => void out.push(text),
        env: {
          SEARCH402_BASE_URL: service.gatewayUrl,
          SEARCH402_STORE: join(directory, 'payments'),
          ...env,
        },
      });
      return { code, out };
    };
    const wallet = { SEARCH402_PRIVATE_KEY: service.dev.payerPrivateKey };
    const { code, out } = await cli('pack', wallet);
    expect(out.join('\n')).toMatch(/^s402_live_\w+\n {3}1000 searches for 0\.05 USD, until /);
    expect(code).toBe(0);
    const found = await cli('search lighthouse', { SEARCH402_API_KEY: out[0] ?? '' });
    expect(found.code).toBe(0);
    expect((await cli('pack many', wallet)).code).toBe(2);
  });
});

test('a channel pays at the real gateway, and its rest comes back when it is closed', async () => {
  const client = payer();
  const opened = await client.channels.open();
  expect(opened).toMatchObject({ status: 'open', priceUnits: 50n });
  await client.search({ query: 'bread' });
  const [closed] = await client.channels.close();
  expect(closed).toMatchObject({
    refundedUnits: opened.balanceUnits - 100n,
    channel: { status: 'closed' },
    transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) as unknown,
  });
  expect(await client.channels.close()).toEqual([]);
}, 60_000);
