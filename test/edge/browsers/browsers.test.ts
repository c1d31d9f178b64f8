/** Pages of other origins call the service, with the packages that they would bundle. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodePaymentResponseHeader } from '@x402/core/http';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { CHROMIUM_MISSING, chromiumPath, launchChromium } from '../../support/chromium.js';
import { startNamedService, type NamedService } from '../../support/named-service.js';
import { transfersToPayee } from '../../support/pay.js';
import { startSite, type Site } from '../../support/site.js';
import type { clients, Paid } from './foreign-page.js';

if (chromiumPath === undefined) process.stderr.write(`${CHROMIUM_MISSING}\n`);
const inBrowser = chromiumPath === undefined ? describe.skip : describe;

/** A name of this machine that the service does not take for its own; browsers resolve it. */
const SHOP = 'shop.localhost';

declare const window: { readonly clients: typeof clients };

inBrowser('a page of a foreign origin', () => {
  let named: NamedService;
  let site: Site;
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    const env = { X402_V1: 'on', MCP_ORIGIN_HOSTS: SHOP };
    [named, site, browser] = await Promise.all([
      startNamedService({ env }),
      startSite(),
      launchChromium(),
    ]);
    const { outputFiles } = await build({
      entryPoints: ['test/edge/browsers/foreign-page.ts'],
      ...{ bundle: true, write: false, format: 'iife', platform: 'browser' },
    });
    const script = outputFiles[0]?.text ?? '';
    site.page('/', '<!doctype html><title>shop</title><script src="/shop.js"></script>');
    site.page('/shop.js', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
    });
    page = await (await browser.newContext()).newPage();
    page.on('pageerror', (error) => problems.push(error.message));
    await page.goto(site.origin.replace('127.0.0.1', SHOP));
  });
  afterAll(async () => {
    await browser.close();
    await site.close();
    await named.service.stop();
  });

  const base = () => named.service.gatewayUrl;
  const key = () => named.service.dev.apiKey;

  test.each([
    ['@x402/fetch, version 2', 'fetchV2'],
    ['@x402/axios, version 2', 'axiosV2'],
    ['@x402/fetch, version 1', 'fetchV1'],
  ] as const)(
    'pays with %s: one transfer, named by the receipt that it reads',
    async (_name, how) => {
      const before = await transfersToPayee(named.service);
      const payer = named.service.dev.payerPrivateKey as `0x${string}`;
      const seen = await page.evaluate<Paid, [typeof how, string, `0x${string}`]>(
        ([name, url, secret]) => window.clients.payers[name](url, secret, 'sourdough bread'),
        [how, base(), payer],
      );
      expect(seen).toMatchObject({ status: 200, url: 'https://pages.example/bread' });
      const made = (await transfersToPayee(named.service)).slice(before.length);
      expect(made.map(({ transactionHash }) => transactionHash)).toEqual([
        decodePaymentResponseHeader(seen.receipt ?? '').transaction,
      ]);
    },
  );

  test.each(['v2', 'v1'] as const)(
    'searches with the official client of the tool protocol, package %s',
    async (version) => {
      const text = await page.evaluate<string, ['v1' | 'v2', string, string]>(
        ([name, url, secret]) => window.clients.tools[name](url, secret),
        [version, `${base()}/mcp`, key()],
      );
      expect(text).toContain('https://pages.example/bread');
    },
  );

  test('registers by itself and is sent to sign in, as a client without a key is', async () => {
    const { sentTo, clientId } = await page.evaluate(
      ([url, redirectUrl]) => window.clients.signIn(url, redirectUrl),
      [`${named.apiOrigin}/mcp`, 'https://shop.example/callback'] as const,
    );
    expect(sentTo).toMatch(`${named.origin}/oauth/authorize?`);
    expect(new URL(sentTo).searchParams.get('client_id')).toBe(clientId);
  });

  test.each([
    [
      'a tracer',
      { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', baggage: 'a=b' },
    ],
    ['a generated SDK', { 'x-stainless-lang': 'js', 'x-stainless-retry-count': '0' }],
    ['a client that repeats safely', { 'idempotency-key': 'page-1' }],
    ['an x402 client', { 'access-control-expose-headers': 'PAYMENT-RESPONSE' }],
  ])('may send the headers of %s', async (_who, more) => {
    const headers = { ...more, authorization: `Bearer ${key()}` };
    const status = await page.evaluate<number, [string, Record<string, string>]>(
      ([url, sent]) => window.clients.withHeaders(url, sent),
      [base(), headers],
    );
    expect(status).toBe(200);
  });

  test.each(['/account', '/openapi.json', '/.well-known/oauth-protected-resource/mcp'])(
    'reads %s, whatever headers it sends',
    async (path) => {
      const headers = { authorization: `Bearer ${key()}`, 'x-anything': '1' };
      const type = await page.evaluate<string | null, [string, Record<string, string>]>(
        ([url, sent]) => window.clients.readable(url, sent, 'content-type'),
        [base() + path, headers],
      );
      expect(type).toMatch(/^application\/json/);
    },
  );

  test('reads why it is refused', async () => {
    const headers = { authorization: 'Bearer s402_live_wrong' };
    const scheme = await page.evaluate<string | null, [string, Record<string, string>]>(
      ([url, sent]) => window.clients.readable(url, sent, 'www-authenticate'),
      [`${base()}/account`, headers],
    );
    expect(scheme).toMatch(/^Bearer /);
  });

  test('reads no page that looks at a cookie', async () => {
    const failed = await page.evaluate<boolean, string>(
      (url) =>
        window.clients.readable(url, {}, 'date').then(
          () => false,
          () => true,
        ),
      `${base()}/console/sign-in`,
    );
    expect(failed).toBe(true);
  });

  test('threw nothing', () => {
    expect(problems).toEqual([]);
  });
});
