import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Locator, Page } from 'playwright-core';
import { REFUSALS } from '../../gateway/ground/domain/refusal.js';
import { openApiDocument } from '../../gateway/edge/http/openapi.js';
import { CHROMIUM_MISSING, chromiumPath, launchChromium } from '../support/chromium.js';
import { startTestService, type TestService } from '../support/service.js';

if (chromiumPath === undefined) process.stderr.write(`${CHROMIUM_MISSING}\n`);
const inBrowser = chromiumPath === undefined ? describe.skip : describe;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

test('the page of both faces shows every path and code, and may load from its server alone', async () => {
  const { paths } = openApiDocument() as { paths: object };
  for (const url of [service.gatewayUrl, service.apiUrl]) {
    const response = await fetch(`${url}/docs/api`);
    const page = await response.text();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = response.headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    for (const name of [...Object.keys(paths), ...Object.keys(REFUSALS)]) {
      expect(page).toContain(name);
    }
    const loaded = [...page.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, path = '']) => path);
    expect(loaded.length).toBeGreaterThan(3);
    for (const path of loaded) {
      const file = await fetch(new URL(path, url));
      await file.arrayBuffer(); // What is not read keeps its connection, and the process, open.
      expect([path, file.status]).toEqual([path, 200]);
      expect(path).toMatch(/^\//);
    }
    expect(page).not.toMatch(/ on[a-z]+="| style="|<style/);
  }
});

inBrowser('the reference in a real browser', () => {
  let browser: Browser;
  const problems: string[] = [];
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  async function openDocs(
    options: Parameters<Browser['newContext']>[0] = {},
    url = service.gatewayUrl,
  ): Promise<Page> {
    const page = await (await browser.newContext(options)).newPage();
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      const isStatus = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isStatus) problems.push(message.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(url)) problems.push(`asked for ${request.url()}`);
    });
    await page.goto(`${url}/docs/api`);
    return page;
  }
  const formOf = (page: Page, operation: string) => page.locator(`#${operation} form`);
  const send = async (form: Locator, status: string) => {
    await form.getByRole('button', { name: 'Send' }).click();
    await form.locator('.state').getByText(status).waitFor();
    return {
      headers: await form.locator('.headers').innerText(),
      decoded: await form.locator('.decoded').innerText(),
      body: await form.locator('.body').innerText(),
    };
  };
  const call = (form: Locator, language: string) =>
    form.locator(`.call[data-language="${language}"]`).textContent();

  test('without a key a search shows its price, decoded, and the call that would pay', async () => {
    const page = await openDocs();
    const form = formOf(page, 'search');
    await form.getByLabel('query').fill('lighthouse lamp');
    const { headers, decoded, body } = await send(form, '402 Payment Required');
    expect(headers).toMatch(/^payment-required: /m);
    expect(decoded).toContain('0.00005 USD (50 atomic USDC) on eip155:8453');
    expect(decoded).toContain('"x402Version": 2');
    expect(JSON.parse(body)).toMatchObject({ code: 'payment_required' });
    expect(await call(form, 'TypeScript')).toContain('wallet: privateKeyAccount(');
    expect(await call(form, 'Python')).toContain('wallet=PrivateKeySigner(');
  });

  test('with a key it shows the results, and the key is nowhere but in its field', async () => {
    const { apiKey } = service.dev;
    const page = await openDocs();
    const form = formOf(page, 'search');
    await page.getByLabel(/API key/).fill(apiKey);
    await form.getByLabel('query').fill('lighthouse');
    await form.getByLabel('maxResults').fill('1');
    const { headers, body } = await send(form, '200 OK');
    expect(headers).toMatch(/^ratelimit: /m);
    expect(JSON.parse(body)).toMatchObject({ result: { totalResults: 1 } });
    const calls = await Promise.all(['curl', 'TypeScript', 'Python'].map((one) => call(form, one)));
    for (const text of calls) {
      expect(text).toContain('SEARCH402_API_KEY');
      expect(text).toContain('lighthouse');
    }
    expect(await page.content()).not.toContain(apiKey);
    const kept = await page.evaluate(
      'JSON.stringify([location.href, document.cookie, { ...localStorage }, { ...sessionStorage }])',
    );
    expect(kept).not.toContain(apiKey);
    await page.reload();
    expect(await page.getByLabel(/API key/).inputValue()).toBe('');
  });

  test('whatever is wrong is shown as the service says it', async () => {
    const page = await openDocs();
    const form = formOf(page, 'search');
    await form.getByLabel('maxResults').fill('21');
    const { body } = await send(form, '422 Unprocessable Entity');
    expect(JSON.parse(body)).toMatchObject({ code: 'invalid_parameter' });
    await form.getByLabel('PAYMENT-SIGNATURE').fill('nonsense');
    await send(form, '400 Bad Request');
    expect(await call(form, 'curl')).toContain("-H 'PAYMENT-SIGNATURE: nonsense'");
  });

  test('the account, its usage and its credits can be tried at the face that takes keys only', async () => {
    const page = await openDocs({}, service.apiUrl);
    await send(formOf(page, 'readAccount'), '401 Unauthorized');
    await page.getByLabel(/API key/).fill(service.dev.apiKey);
    const account = await send(formOf(page, 'readAccount'), '200 OK');
    expect(JSON.parse(account.body)).toMatchObject({ account: { plan: expect.any(String) } });
    const usage = formOf(page, 'readUsage');
    await usage.getByLabel('by').selectOption('outcome');
    await usage.getByLabel('format').selectOption('csv');
    expect((await send(usage, '200 OK')).body).toContain('outcome,searches,refused,credits');
    expect(await call(usage, 'curl')).toContain('/account/usage?by=outcome&format=csv');
    const credits = await send(formOf(page, 'buyCredits'), '402 Payment Required');
    expect(credits.decoded).toContain('The price is 5 USD (5000000 atomic USDC)');
  });

  test('it holds in three widths, light and dark, and can be worked by keyboard', async () => {
    for (const [width, colorScheme] of [
      [390, 'dark'],
      [820, 'light'],
      [1280, 'dark'],
    ] as const) {
      const page = await openDocs({ viewport: { width, height: 900 }, colorScheme });
      await send(formOf(page, 'search'), '402 Payment Required');
      const room = await page.evaluate('[document.documentElement.scrollWidth, window.innerWidth]');
      const [scroll = 0, inner = 0] = room as number[];
      expect({ width, fits: scroll <= inner }).toEqual({ width, fits: true });
      expect(await page.evaluate(UNLABELLED)).toEqual([]);
      expect(await page.evaluate(REPEATED)).toEqual([]);
      expect(await page.evaluate(FAINT)).toEqual([]);
      await page.reload();
      await page.keyboard.press('Tab');
      expect(await page.locator('a.skip:focus').count()).toBe(1);
      await page.getByLabel('query').focus();
      await page.keyboard.press('Enter');
      await formOf(page, 'search').locator('.state').getByText('402').waitFor();
    }
  });

  test('it asked for nothing from elsewhere, broke no policy, and threw nothing', () => {
    expect(problems).toEqual([]);
  });
});

/** Fields and buttons that a screen reader could not name. */
const UNLABELLED = `[...document.querySelectorAll('input, select, button, a, nav, form')]
  .filter((one) => !(one.labels?.length || one.textContent.trim() || one.ariaLabel))
  .map((one) => one.outerHTML)`;

/** Ids that stand more than once. */
const REPEATED = `[...document.querySelectorAll('[id]')].map(({ id }) => id)
  .filter((id, index, all) => all.indexOf(id) !== index)`;

/** Texts whose contrast with what is behind them is below 4.5 to 1 (WCAG 2.2, 1.4.3). */
const FAINT = `(() => {
  const channels = (color) => color.match(/[0-9.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, index) => sum + one * [0.2126, 0.7152, 0.0722][index], 0);
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor);
      if (color[3] !== 0) return color;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll('main *, nav *, header *')]
    .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .filter((one) => one.offsetParent !== null)
    .map((one) => {
      const [a, b] = [light(channels(getComputedStyle(one).color)), light(behind(one))];
      return [one.tagName + ' ' + one.className, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
    })
    .filter(([, ratio]) => ratio < 4.5);
})()`;
