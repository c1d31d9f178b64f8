import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { privateKeyToAccount } from 'viem/accounts';
import type { Hex } from '../../gateway/ground/domain/units.js';
import { CHROMIUM_MISSING, chromiumPath, launchChromium } from '../support/chromium.js';
import { startRealWorld, type RealWorld } from '../support/sdk-real.js';
import { startSite, type Site } from '../support/site.js';

if (chromiumPath === undefined) process.stderr.write(`${CHROMIUM_MISSING}\n`);
const inBrowser = chromiumPath === undefined ? describe.skip : describe;

/** What a wallet extension puts into a page (EIP-1193); Node holds the key. */
const WALLET = `window.ethereum = {
  async request({ method, params }) {
    window.asked = [...(window.asked ?? []), method];
    if (method === 'eth_requestAccounts') return [await window.payerAddress()];
    if (method === 'eth_signTypedData_v4') return window.payerSigns(params[1]);
    throw { code: 4200, message: 'not supported' };
  },
};`;

/** What is read of an outcome in the page: bigints cannot leave it. */
const SEEN = `(outcome) => ({
  url: outcome.data.result.results[0]?.url,
  requestId: outcome.headers.get('x-request-id') === outcome.data.requestId,
  rate: outcome.headers.get('ratelimit') !== null,
  tries: outcome.tries,
  status: outcome.payment?.status,
  units: String(outcome.payment?.amountUnits),
  transaction: outcome.payment?.transaction,
})`;

interface Seen {
  readonly url: string;
  readonly requestId: boolean;
  readonly rate: boolean;
  readonly tries: number;
  readonly status?: string;
  readonly units: string;
  readonly transaction?: string;
}

inBrowser('the package in a real browser, on a page of another origin', () => {
  let world: RealWorld;
  let site: Site;
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    [world, site, browser] = await Promise.all([startRealWorld(), startSite(), launchChromium()]);
    const { outputFiles } = await build({
      entryPoints: ['sdk/typescript/src/index.ts'],
      ...{ bundle: true, write: false, format: 'iife', globalName: 'sdk', platform: 'browser' },
    });
    const script = outputFiles[0]?.text ?? '';
    site.page('/', '<!doctype html><title>shop</title><script src="/sdk.js"></script>');
    site.page('/sdk.js', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
    });
    page = await openShop();
  });
  afterAll(async () => {
    await browser.close();
    await site.close();
    await world.close();
  });

  async function openShop(behindMs = 0): Promise<Page> {
    const opened = await (await browser.newContext()).newPage();
    opened.on('pageerror', (error) => problems.push(error.message));
    const account = privateKeyToAccount(world.service.dev.payerPrivateKey as Hex);
    await opened.exposeFunction('payerAddress', () => account.address);
    await opened.exposeFunction('payerSigns', (text: string) =>
      account.signTypedData(JSON.parse(text) as Parameters<typeof account.signTypedData>[0]),
    );
    await opened.addInitScript(WALLET);
    const slow = `const now = Date.now; Date.now = () => now() - ${behindMs};`;
    await opened.addInitScript(slow);
    await opened.goto(site.origin);
    return opened;
  }

  const payBy = (client: string, query: string) =>
    `${client}.searchWithResponse({ query: ${JSON.stringify(query)} }).then(${SEEN})
      .catch(({ message }) => { throw new Error(message); })`;
  const options = (more: string) =>
    `new sdk.Search402({ baseUrl: ${JSON.stringify(world.proxy.url)}, logLevel: 'off', ${more} })`;
  const run = async (code: string, on = page) => on.evaluate<Seen>(code);

  test('searches with a key, and reads the headers that the gateway exposes', async () => {
    const keyed = options(`apiKey: ${JSON.stringify(world.service.dev.apiKey)}`);
    const seen = await run(payBy(keyed, 'lighthouse lamp'));
    expect(seen).toMatchObject({ requestId: true, rate: true, tries: 1 });
    expect(seen.url).toBe('https://pages.example/lighthouse');
  });

  test('gives typed errors there as well', async () => {
    const wrong = options(`apiKey: 's402_live_wrong'`);
    const code = `${wrong}.search({ query: 'x' }).catch((error) => ({
      isTyped: error instanceof sdk.AuthenticationError, code: error.code, id: error.requestId }))`;
    expect(await page.evaluate(code)).toEqual({
      isTyped: true,
      code: 'invalid_api_key',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  test('pays through the wallet of the page: one transfer, named by the receipt', async () => {
    const before = await world.transfers();
    const seen = await run(payBy(options('wallet: window.ethereum'), 'sourdough bread'));
    expect(seen).toMatchObject({ status: 'paid', units: '50', tries: 2 });
    expect(seen.url).toBe('https://pages.example/bread');
    expect((await world.transfers()).slice(before.length)).toEqual([seen.transaction]);
    const asked = await page.evaluate<string[]>('[...new Set(window.asked)]');
    expect(asked).toEqual(['eth_requestAccounts', 'eth_signTypedData_v4']);
  });

  // The browser shows no more of the second than of the first: that answer lets no page read it.
  test.each([{ kind: 'drop-after' }, { kind: 'status-after', status: 502 }] as const)(
    'sends the same payment again when the answer is lost after it was accepted (%j)',
    async (fault) => {
      const before = await world.transfers();
      const from = world.proxy.seen.length;
      // Chromium knows by now that it may send this header: no preflight takes up a fault.
      world.proxy.faults.push({ kind: 'pass' }, fault);
      const query = `tide tables ${fault.kind}`;
      const seen = await run(payBy(options('wallet: window.ethereum'), query));
      expect(seen.status).toBe('paid');
      const payments = world.proxy.seen.slice(from).flatMap(({ payment }) => payment ?? []);
      expect(payments).toHaveLength(2);
      expect(new Set(payments).size).toBe(1);
      expect((await world.transfers()).slice(before.length)).toEqual([seen.transaction]);
    },
  );

  test('pays by the clock of the server where that of the browser is minutes wrong', async () => {
    const late = await openShop(10 * 60_000);
    const seen = await run(payBy(options('wallet: window.ethereum'), 'high water'), late);
    expect(seen).toMatchObject({ status: 'paid', tries: 2 });
  });

  test('a cap holds there: nothing is signed beyond it', async () => {
    const from = world.proxy.seen.length;
    const capped = options(`wallet: window.ethereum, payment: { maxTotal: 49n }`);
    const code = `${capped}.search({ query: 'x' }).catch((error) => error.name)`;
    expect(await page.evaluate(code)).toBe('CapExceededError');
    expect(world.proxy.seen.slice(from).flatMap(({ payment }) => payment ?? [])).toEqual([]);
  });

  test('no page threw', () => {
    expect(problems).toEqual([]);
  });
});
