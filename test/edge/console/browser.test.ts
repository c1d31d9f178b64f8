import axe from 'axe-core';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { TopUpPayments } from '../../../gateway/customers/credits/top-up.js';
import { refuse } from '../../../gateway/ground/domain/refusal.js';
import { CHROMIUM_MISSING, chromiumPath, launchChromium } from '../../support/chromium.js';
import { openConsoleWorld, type ConsoleWorld } from '../../support/console.js';
import { PASSWORD } from '../../support/people.js';
import { until } from '../../support/until.js';

if (chromiumPath === undefined) process.stderr.write(`${CHROMIUM_MISSING}\n`);
const inBrowser = chromiumPath === undefined ? describe.skip : describe;

const BYTES_MAX = 60_000;
const REQUESTS_MAX = 10;

const PAY_TO = '0x00000000000000000000000000000000000000aa';
const CHALLENGE = Buffer.from(
  JSON.stringify({
    x402Version: 2,
    resource: { url: 'http://127.0.0.1/account/credits' },
    accepts: [
      {
        scheme: 'exact',
        network: 'eip155:8453',
        amount: '1000000',
        asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
        payTo: PAY_TO,
        maxTimeoutSeconds: 300,
        extra: { name: 'USD Coin', version: '2' },
      },
    ],
  }),
).toString('base64');
const payments: string[] = [];
const topUpPayments: TopUpPayments = {
  pay: ({ payment, requestId }) => {
    if (payment === undefined) {
      const refusal = refuse('payment_required', 'Pay.', { reason: 'Payment required' });
      return Promise.resolve({ kind: 'refused', refusal, challengeHeader: CHALLENGE });
    }
    payments.push(Buffer.from(payment, 'base64').toString());
    const paid = { kind: 'paid', requestId, transaction: '0x1', receiptHeader: 'receipt' } as const;
    return Promise.resolve(paid);
  },
  settled: () => Promise.resolve([]),
  transactions: () => Promise.resolve(new Map()),
};

/** What a wallet extension puts into a page (EIP-1193), with a signature that is not checked. */
const WALLET = `window.ethereum = {
  request({ method, params }) {
    window.walletCalls = [...(window.walletCalls ?? []), { method, params }];
    if (method === 'eth_requestAccounts') return Promise.resolve(['0x00000000000000000000000000000000000000bb']);
    if (method === 'eth_chainId') return Promise.resolve('0x2105');
    if (method === 'eth_signTypedData_v4') return Promise.resolve('0x' + '11'.repeat(65));
    return Promise.reject({ code: 4200 });
  },
};`;

let world: ConsoleWorld;
let browser: Browser;
const problems: string[] = [];

/** A fresh browser profile; whatever its pages complain about fails the tests. */
async function openPage(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
  const context: BrowserContext = await browser.newContext(options);
  const page = await context.newPage();
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    const isNetwork = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isNetwork) problems.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(world.url)) problems.push(`asked for ${request.url()}`);
  });
  return page;
}

async function signUp(page: Page, name: string, email: string): Promise<void> {
  await page.goto(`${world.url}/console/sign-up`);
  await page.getByLabel('Your name').fill(name);
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Sign up' }).click();
  await page.getByRole('link', { name: 'read it in the outbox' }).click();
  await page
    .getByRole('link', { name: /\/console\/verify/ })
    .first()
    .click();
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Confirm and sign in' }).click();
  await page.getByRole('heading', { name: `Hello, ${name}` }).waitFor();
}

async function makeKey(page: Page, name: string): Promise<string> {
  await page.goto(`${world.url}/console/keys`);
  await page.getByRole('link', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create a key' });
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Create key' }).click();
  return page.locator('#new-key').innerText();
}

inBrowser('the console in a real browser', () => {
  beforeAll(async () => {
    world = await openConsoleWorld({ topUpPayments, operatorEmails: ['ada@example.org'] });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser.close();
    await world.close();
  });

  test('sign up → confirm → key → search → usage → request → revoke', async () => {
    const page = await openPage();
    await signUp(page, 'Ada', 'ada@example.org');
    const key = await makeKey(page, 'first script');
    expect(key).toMatch(/^s402_live_[0-9A-Za-z]{33}$/);

    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByLabel('Query').fill('viem sign typed data');
    await page.getByRole('button', { name: 'Search for 1 credit' }).click();
    await page.getByText('1 result in').waitFor();
    expect(await page.locator('#results .hits li').count()).toBe(1);
    expect(await page.locator('#results mark').first().innerText()).toBe('viem');
    expect(new URL(page.url()).searchParams.get('q')).toBe('viem sign typed data');

    await until(async () => {
      // Usage is written in batches.
      await page.goto(`${world.url}/console/requests`);
      return (await page.getByRole('row', { name: /viem sign typed data/ }).count()) === 1;
    });
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    const figures = await page.locator('.figures').innerText();
    expect(figures.replace(/\s+/g, ' ')).toContain('Searches 1');
    expect(await page.getByRole('img', { name: /Searches by day/ }).count()).toBe(1);

    await page.getByRole('link', { name: 'Requests' }).click();
    await page
      .getByRole('row', { name: /viem sign typed data/ })
      .getByRole('link')
      .click();
    await page.getByText('1 credit').waitFor();
    expect(await page.locator('#call-curl').innerText()).toContain('viem sign typed data');

    await page.getByRole('link', { name: 'Keys' }).click();
    expect(await page.content()).not.toContain(key);
    await page.getByRole('link', { name: 'Revoke first script' }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('The key was revoked').waitFor();
    const reply = await page.request.post(`${world.url}/search`, {
      headers: { Authorization: `Bearer ${key}` },
      data: { query: 'viem' },
    });
    expect(reply.status()).toBe(401);
  });

  test('invite → accept → the bounds of a Member', async () => {
    const admin = await openPage();
    await signUp(admin, 'Grace', 'grace@example.org');
    await admin.getByRole('link', { name: 'Team' }).click();
    await admin.getByRole('link', { name: 'Invite someone' }).click();
    await admin.getByLabel('Email address').fill('linus@example.org');
    await admin.getByRole('button', { name: 'Invite' }).click();
    await admin.getByText('We sent an invitation to').waitFor();
    const link = await world.linkTo('linus@example.org');

    const member = await openPage();
    await signUpInvited(member, 'Linus', 'linus@example.org');
    await member.goto(link);
    await member.getByRole('button', { name: 'Accept invitation' }).click();
    await member.getByText('Grace’s account').first().waitFor();
    expect(await member.getByRole('link', { name: 'Billing' }).count()).toBe(0);
    expect(await member.getByRole('link', { name: 'Team' }).count()).toBe(0);
    const billing = await member.goto(`${world.url}/console/billing`);
    expect(billing?.status()).toBe(403);
    expect(await makeKey(member, 'of Linus')).toMatch(/^s402_live_/);
  });

  test('credits are bought with a wallet in the browser, by a signature over exactly the quote', async () => {
    const page = await openPage();
    await page.addInitScript(WALLET);
    await signUp(page, 'Hedy', 'hedy@example.org');
    await page.getByRole('link', { name: 'Billing' }).click();
    await page.getByRole('button', { name: 'Pay with your browser wallet' }).click();
    await page.getByText('20,000 credits were added').waitFor();
    await page.getByText('Top-up in USDC').waitFor();
    const payment = JSON.parse(payments.at(-1) ?? '{}') as {
      accepted: { payTo: string };
      payload: { authorization: { value: string; to: string } };
    };
    expect(payment.accepted.payTo).toBe(PAY_TO);
    expect(payment.payload.authorization).toMatchObject({ value: '1000000', to: PAY_TO });
  });

  test('every page holds in three widths, light and dark, and can be worked by keyboard', async () => {
    await givenSomethingToSee();
    for (const [width, colorScheme] of [
      [360, 'dark'],
      [820, 'light'],
      [1280, 'light'],
    ] as const) {
      // axe is put into the page, which the policy would not let anybody else do.
      const options = { viewport: { width, height: 900 }, colorScheme, bypassCSP: true };
      const page = await openPage(options);
      for (const name of OPEN_PAGES) await checkPage(page, name, { width });
      await page.goto(`${world.url}/console/sign-in`);
      await page.getByLabel('Email address').fill('ada@example.org');
      await page.getByLabel('Password').fill(PASSWORD);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Hello, Ada' }).waitFor();
      for (const name of PAGES) await checkPage(page, name, { width });
      const account = await page.locator('main table a').first().getAttribute('href');
      await checkPage(page, 'operator-account', {
        width,
        path: account?.slice('/console/'.length),
      });
    }
  });

  test(`every page is under ${BYTES_MAX} bytes and ${REQUESTS_MAX} requests for a newcomer`, async () => {
    const signedIn = await openPage();
    await signUp(signedIn, 'Barbara', 'barbara@example.org');
    const storageState = await signedIn.context().storageState();
    for (const name of ['', 'keys', 'usage', 'requests', 'playground', 'connect', 'billing']) {
      const page = await openPage({ storageState });
      const sizes: Promise<number>[] = [];
      page.on('requestfinished', (request) => {
        sizes.push(
          request
            .sizes()
            .then(({ responseBodySize, responseHeadersSize: heads }) => responseBodySize + heads),
        );
      });
      await page.goto(`${world.url}/console/${name}`, { waitUntil: 'networkidle' });
      const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
      expect({ name, isSmall: bytes <= BYTES_MAX, isQuick: sizes.length <= REQUESTS_MAX }).toEqual({
        name,
        isSmall: true,
        isQuick: true,
      });
      await page.context().close();
    }
  });

  test('no page asked for anything from elsewhere, broke its policy, or threw', () => {
    expect(problems).toEqual([]);
  });
});

/** A key, some searches, one of them refused, and an open invitation. */
async function givenSomethingToSee(): Promise<void> {
  const page = await openPage();
  await page.goto(`${world.url}/console/sign-in`);
  await page.getByLabel('Email address').fill('ada@example.org');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Hello, Ada' }).waitFor();
  const key = await makeKey(page, 'nightly');
  const queries = ['base usdc gas', 'tide tables brest', 'sourdough starter', 'broken'];
  for (const query of queries) {
    await page.request.post(`${world.url}/search`, {
      headers: { Authorization: `Bearer ${key}` },
      data: { query },
    });
  }
  await page.goto(`${world.url}/console/team/invite`);
  await page.getByLabel('Email address').fill('margaret@example.org');
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByText('We sent an invitation to').waitFor();
  await page.context().close();
}

/** No page is wider than the window, every control has a name, and Tab finds the way to the text. */
async function checkPage(
  page: Page,
  name: string,
  { width, path = name }: { width: number; path?: string | undefined },
): Promise<void> {
  await page.goto(`${world.url}/console/${path}`);
  const room = await page.evaluate('[document.documentElement.scrollWidth, window.innerWidth]');
  const [scroll = 0, inner = 0] = room as number[];
  expect({ name, width, fits: scroll <= inner }).toEqual({ name, width, fits: true });
  expect(await page.evaluate(UNLABELLED)).toEqual([]);
  await page.evaluate(axe.source);
  const found = await page.evaluate<string[]>(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))`,
  );
  expect({ name, width, found }).toEqual({ name, width, found: [] });
  await keepPicture(page, `${name.replaceAll('/', '-') || 'home'}-${width}`);
  await page.keyboard.press('Tab');
  expect(await page.locator('a.skip:focus').count()).toBe(1);
}

const OPEN_PAGES = ['sign-in', 'sign-up', 'forgot'] as const;

const PAGES = [
  '',
  'keys',
  'keys/new',
  'usage',
  'requests',
  'playground',
  'connect',
  'applications',
  'billing',
  'team',
  'profile',
  'operator',
  'parts',
] as const;

/** The names of inputs and buttons that a screen reader could not name. */
const UNLABELLED = `[...document.querySelectorAll('input:not([type=hidden]), select, button, a')]
  .filter((one) => !(one.labels?.length || one.textContent.trim() || one.ariaLabel))
  .map((one) => one.outerHTML)`;

/** Pictures are written where SCREENSHOTS names a folder; docs/ has those of the last release. */
async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (folder === undefined || folder === '') return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** Whoever was invited finds the invitation in the outbox, too: opens the confirmation. */
async function signUpInvited(page: Page, name: string, email: string): Promise<void> {
  await page.goto(`${world.url}/console/sign-up`);
  await page.getByLabel('Your name').fill(name);
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Sign up' }).click();
  await page.waitForTimeout(300);
  await page.getByRole('link', { name: 'read it in the outbox' }).click();
  await page
    .getByRole('link', { name: /\/console\/verify/ })
    .first()
    .click();
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Confirm and sign in' }).click();
  await page.getByRole('heading', { name: 'You’re not in any account yet' }).waitFor();
}
