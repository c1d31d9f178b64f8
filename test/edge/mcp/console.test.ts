/** The console's part of the tool protocol, in a real browser against the whole service. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { privateKeyToAccount } from 'viem/accounts';
import { chromiumPath, launchChromium } from '../../support/chromium.js';
import { browser as plainBrowser, PERSON, signUp } from '../../support/oauth.js';
import { byHand } from '../../support/oauth-client.js';
import { transfersToPayee } from '../../support/pay.js';
import { startNamedService } from '../../support/named-service.js';
import type { TestService } from '../../support/service.js';

/** What the checks search for. */
const PAGE = {
  url: 'https://pages.example/search',
  title: 'Web search',
  text: 'A web search finds pages by their words.',
};

let service: TestService;
let chromium: Browser;
let origin: string;
let keyed: string;
let page: Page;
let session: Awaited<ReturnType<BrowserContext['storageState']>> | undefined;
const problems: string[] = [];

(chromiumPath === undefined ? describe.skip : describe)('in a real browser', () => {
  beforeAll(async () => {
    ({ service, origin, apiOrigin: keyed } = await startNamedService({ pages: [PAGE] }));
    await signUp(origin, plainBrowser(origin));
    chromium = await launchChromium();
    const first = await open();
    await signIn(first);
    await first.context().close();
  });
  afterAll(async () => {
    await chromium.close();
    await service.stop();
  });
  beforeEach(async () => {
    page = await open();
  });
  afterEach(() => page.context().close());

  /** The console in a fresh browser, signed in; whatever a page complains about is collected. */
  async function open(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
    const context = await chromium.newContext({
      ...options,
      ...(session && { storageState: session }),
    });
    const made = await context.newPage();
    made.on('pageerror', (error) => problems.push(error.message));
    made.on('console', (message) => {
      const isNetwork = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isNetwork) problems.push(message.text());
    });
    return made;
  }

  async function signIn(made: Page): Promise<void> {
    await made.goto(`${origin}/console/sign-in`);
    await made.getByLabel('Email address').fill(PERSON.email);
    await made.getByLabel('Password').fill(PERSON.password);
    await made.getByRole('button', { name: 'Sign in', exact: true }).click();
    await made.getByRole('heading', { name: /^Hello/, level: 1 }).waitFor();
    session = await made.context().storageState();
  }

  /** Presses a button of the page Connect and waits until its list of steps says `end`. */
  async function check(name: string, end: RegExp): Promise<string[]> {
    const list = page.getByRole('list', { name: /^Steps/ });
    await page.getByRole('button', { name }).click();
    await list.getByText(end).waitFor({ timeout: 30_000 });
    const steps = await list.filter({ hasText: end }).getByRole('listitem').allInnerTexts();
    return steps.map((step) => step.replace(/\s+/g, ' '));
  }

  const account = async () => {
    const headers = { authorization: `Bearer ${service.dev.apiKey}` };
    const reply = await (await fetch(`${service.apiUrl}/account`, { headers })).json();
    return (reply as { credits: { available: number } }).credits.available;
  };

  test('Connect checks a key, and says what that cost', async () => {
    const before = await account();
    await page.goto(`${origin}/console/connect`);
    await page.getByLabel('API key').fill(service.dev.apiKey);
    const steps = await check('Check the key', /Cost: /);
    expect(steps).toEqual([
      expect.stringContaining('With the key it lists its tool: search.'),
      expect.stringContaining('A search found 1 page.'),
      expect.stringMatching(/Cost: 1 credit\. Left: [\d,]+\./),
    ]);
    expect(await account()).toBe(before - 1);
    await keepPicture(page, 'connect-checked-1280');

    await page.getByLabel('API key').fill(`${service.dev.apiKey}x`);
    const [failed, ...more] = await check('Check the key', /lists no tools/);
    expect(failed).toContain('Broken: The server lists no tools: This isn’t a valid API key');
    expect(more).toEqual([]);
  });

  test('Connect signs in as an application would, and leaves nothing connected', async () => {
    await page.goto(`${origin}/console/connect`);
    await page.getByRole('button', { name: 'Check the sign-in' }).click();
    await page.getByRole('heading', { name: 'Connect Console connection test?' }).waitFor();
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    const list = page.getByRole('list', { name: 'Steps of the sign-in' });
    await list
      .getByText('The token was revoked. Nothing stays connected.')
      .waitFor({ timeout: 30_000 });
    const steps = (await list.innerText()).replace(/\s+/g, ' ');
    const described = `${keyed}/.well-known/oauth-protected-resource/mcp`;
    expect(steps).toContain(
      `401 with WWW-Authenticate: Bearer scope="search", resource_metadata="${described}"`,
    );
    expect(steps).toContain(`The authorization server is ${origin}.`);
    expect(steps).toContain('Got a token for search');
    expect(steps).toContain('With the token the server lists its tool: search.');
    expect(steps).toContain('It cost 1 credit of the account you chose.');
    expect(steps).not.toContain('Broken');
    expect(new URL(page.url()).search).toBe('');
    await page.getByRole('link', { name: 'Applications' }).first().click();
    await page.getByText('No applications connected.').waitFor();
  });

  test('Connect says so when the person does not consent', async () => {
    await page.goto(`${origin}/console/connect`);
    await page.getByRole('button', { name: 'Check the sign-in' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Broken: Sign-in failed with access_denied').waitFor();
  });

  test('Connect shows the payment that a call asks for, and pays it from a wallet', async () => {
    const before = (await transfersToPayee(service)).length;
    await page.goto(`${origin}/console/connect`);
    const shown = await check('Check the payment', /no wallet/);
    expect(shown[1]).toContain(`A call asks for 0.00005 USDC on eip155:${service.dev.chainId}`);

    await giveWallet(page);
    await page.reload();
    const steps = await check('Check the payment', /It cost/);
    expect(steps.at(-1)).toMatch(/It cost 0\.00005 USDC, in transaction 0x[0-9a-f]{64}\./);
    expect((await transfersToPayee(service)).length - before).toBe(1);
  });

  test('Applications lists what the person connected, and ends it at once', async () => {
    const person = plainBrowser(origin);
    const { email, password } = PERSON;
    await person.post('/console/sign-in', { email, password, to: '/console' });
    const url = `${keyed}/mcp`;
    const hand = byHand({ url, origin }, person);
    const { tokens } = await hand.tokensFor();
    expect((await hand.list(tokens.access_token)).status).toBe(200);

    await page.goto(`${origin}/console/applications`);
    const row = page.getByRole('row', { name: /By hand/ });
    expect((await row.innerText()).replace(/\s+/g, ' ')).toContain(`at ${url}`);
    await keepPicture(page, 'applications-list-1280');
    await row.getByRole('button', { name: 'End By hand' }).click();
    await page.getByText('The application was disconnected.').waitFor();
    expect((await hand.list(tokens.access_token)).status).toBe(401);
    await page.getByText('No applications connected.').waitFor();
  });

  test('both pages hold in three widths, light and dark, and can be worked by keyboard', async () => {
    for (const [width, colorScheme] of [
      [390, 'dark'],
      [820, 'dark'],
      [1280, 'light'],
    ] as const) {
      const narrow = await open({ viewport: { width, height: 900 }, colorScheme });
      for (const name of ['connect', 'applications']) {
        await narrow.goto(`${origin}/console/${name}`);
        const fits = await narrow.evaluate(
          'document.documentElement.scrollWidth <= window.innerWidth',
        );
        expect({ name, width, fits }).toEqual({ name, width, fits: true });
        await keepPicture(narrow, `${name}-${width}`);
      }
      await narrow.goto(`${origin}/console/connect`);
      await narrow.getByRole('button', { name: 'Check the payment' }).focus();
      await narrow.keyboard.press('Enter');
      await narrow.getByText(/no wallet/).waitFor({ timeout: 30_000 });
      await narrow.context().close();
    }
  });

  test('no page broke its policy or threw', () => {
    expect(problems).toEqual([]);
  });
});

/** What a wallet extension puts into a page (EIP-1193), around the development start's payer. */
async function giveWallet(to: Page): Promise<void> {
  const payer = privateKeyToAccount(service.dev.payerPrivateKey as `0x${string}`);
  const sign = (typedData: string) =>
    payer.signTypedData(JSON.parse(typedData) as Parameters<typeof payer.signTypedData>[0]);
  await to.exposeFunction('signWithWallet', sign);
  await to.addInitScript(`window.ethereum = {
    async request({ method, params }) {
      if (method === 'eth_requestAccounts') return ['${payer.address}'];
      if (method === 'eth_chainId') return '0x${service.dev.chainId.toString(16)}';
      if (method === 'eth_signTypedData_v4') return window.signWithWallet(params[1]);
      throw { code: 4200 };
    },
  };`);
}

/** Pictures are written where SCREENSHOTS names a folder; docs/ has those of the last release. */
async function keepPicture(of: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (folder === undefined || folder === '') return;
  mkdirSync(folder, { recursive: true });
  await of.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
