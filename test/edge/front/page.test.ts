/** The front page in a real browser: sizes, colour schemes, keyboard, without a script. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { CHROMIUM_MISSING, chromiumPath, launchChromium } from '../../support/chromium.js';
import { startTestService, type TestService } from '../../support/service.js';

if (chromiumPath === undefined) process.stderr.write(`${CHROMIUM_MISSING}\n`);
const inBrowser = chromiumPath === undefined ? describe.skip : describe;

const BYTES_MAX = 60_000;
const REQUESTS_MAX = 10;

inBrowser('the front page', () => {
  let service: TestService;
  let browser: Browser;
  const problems: string[] = [];
  beforeAll(async () => {
    [service, browser] = await Promise.all([
      startTestService({ env: { FREE_SEARCHES_PER_DAY: '100' } }),
      launchChromium(),
    ]);
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  async function open(path = '/', options: BrowserContextOptions = {}): Promise<Page> {
    const page = await (await browser.newContext(options)).newPage();
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => problems.push(message.text()));
    await page.goto(service.gatewayUrl + path);
    return page;
  }

  const views = [360, 768, 1280].flatMap((width) =>
    (['light', 'dark'] as const).map((colorScheme) => [width, colorScheme] as const),
  );

  test.each(views)(
    'at %d pixels, %s: axe finds nothing, nothing is cut off',
    async (width, colorScheme) => {
      for (const path of ['/', '/?q=bread', '/?q=zzyzx']) {
        const options = { viewport: { width, height: 800 }, colorScheme, bypassCSP: true };
        const page = await open(path, options);
        await page.evaluate(axe.source);
        const found = await page.evaluate<{ id: string; nodes: string[] }[]>(
          `axe.run().then(({ violations }) => violations.map(({ id, nodes }) =>
          ({ id, nodes: nodes.map(({ html }) => html) })))`,
        );
        expect(found).toEqual([]);
        const beyond = await page.evaluate<number>(
          'document.documentElement.scrollWidth - window.innerWidth',
        );
        expect(beyond).toBeLessThanOrEqual(0);
        await page.context().close();
      }
    },
  );

  test(`is under ${BYTES_MAX} bytes and ${REQUESTS_MAX} requests, with results on it`, async () => {
    const page = await (await browser.newContext()).newPage();
    const sizes: Promise<number>[] = [];
    page.on('requestfinished', (request) => {
      sizes.push(
        request.sizes().then(({ responseBodySize, responseHeadersSize }) => {
          return responseBodySize + responseHeadersSize;
        }),
      );
    });
    await page.goto(`${service.gatewayUrl}/?q=bread`, { waitUntil: 'networkidle' });
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(sizes.length).toBeLessThanOrEqual(REQUESTS_MAX);
    expect(bytes).toBeLessThanOrEqual(BYTES_MAX);
    await page.context().close();
  });

  test('searches by keyboard alone without leaving the page, and goes back', async () => {
    const page = await open();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.className')).toBe('skip');
    await page.getByRole('searchbox').focus();
    await page.keyboard.type('lighthouse lamp');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Keeping a lighthouse' }).waitFor();
    expect(new URL(page.url()).search).toBe('?q=lighthouse%20lamp');
    await page.getByText(/\d+ of 100 free today/).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Keeping a lighthouse' }).waitFor({ state: 'detached' });
    await page.context().close();
  });

  test('works without a script: search, tabs', async () => {
    const page = await open('/', { javaScriptEnabled: false });
    await page.getByRole('searchbox').fill('sourdough');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('link', { name: 'Sourdough bread' }).waitFor();
    await page.getByText('Python', { exact: true }).click();
    await page.getByText('import json, os, urllib.request').waitFor();
    await page.context().close();
  });

  test('its tabs change by arrow keys', async () => {
    const page = await open();
    await page.getByRole('radio', { name: 'curl' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByText(`import { wrapFetchWithPayment`).waitFor();
    await page.context().close();
  });

  test('threw nothing', () => {
    expect(problems).toEqual([]);
  });
});
