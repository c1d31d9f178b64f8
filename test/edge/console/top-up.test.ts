import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { wrapFetchWithPayment } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';
import { CHROMIUM_MISSING, chromiumPath, launchChromium } from '../../support/chromium.js';
import { devClient, receiptOf, transfersToPayee } from '../../support/pay.js';
import { PASSWORD } from '../../support/people.js';
import { startTestService, type TestService } from '../../support/service.js';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ env: { OPERATOR_EMAILS: 'ada@example.org' } });
});
afterAll(() => service.stop());

const bearer = () => ({ Authorization: `Bearer ${service.dev.apiKey}` });
const granted = async () => {
  const response = await fetch(`${service.gatewayUrl}/account`, { headers: bearer() });
  const { credits } = (await response.json()) as { credits: { granted: number } };
  return credits.granted;
};
const topUp = (pay: typeof fetch, amountUsd: string) =>
  pay(`${service.gatewayUrl}/account/credits`, {
    method: 'POST',
    headers: { ...bearer(), 'content-type': 'application/json' },
    body: JSON.stringify({ amountUsd }),
  });

describe('credits paid in USDC on a chain', () => {
  test('@x402/fetch moves exactly the amount that was asked for, and the credits are there', async () => {
    const before = await granted();
    const sent: string[] = [];
    const recording: typeof fetch = (input, init) => {
      const payment = new Headers(init?.headers ?? (input as Request).headers).get(
        'payment-signature',
      );
      if (payment !== null) sent.push(payment);
      return fetch(input, init);
    };
    const response = await topUp(wrapFetchWithPayment(recording, devClient(service)), '1');
    expect(await response.json()).toMatchObject({ credits: 20_000 });
    const receipt = receiptOf(response);
    expect(receipt).toMatchObject({ success: true, amount: '1000000' });
    const moved = (await transfersToPayee(service)).filter(
      (log) => log.transactionHash === receipt.transaction,
    );
    expect(moved.map((log) => log.args.value)).toEqual([1_000_000n]);
    expect(await granted()).toBe(before + 20_000);

    // The same payment again, as after a lost reply: the same answer, and nothing is added.
    const again = await fetch(`${service.gatewayUrl}/account/credits`, {
      method: 'POST',
      headers: {
        ...bearer(),
        'content-type': 'application/json',
        'payment-signature': sent[0] ?? '',
      },
      body: JSON.stringify({ amountUsd: '1' }),
    });
    expect(again.status).toBe(200);
    expect(receiptOf(again)).toEqual(receipt);
    expect(await granted()).toBe(before + 20_000);

    // The same payment for another amount, and for a search: refused.
    const other = { 'payment-signature': sent[0] ?? '' };
    const more = await fetch(`${service.gatewayUrl}/account/credits`, {
      method: 'POST',
      headers: { ...bearer(), 'content-type': 'application/json', ...other },
      body: JSON.stringify({ amountUsd: '2' }),
    });
    expect(more.status).toBe(402);
    expect((await service.search({ query: 'bread' }, other)).status).toBe(402);
    expect(await granted()).toBe(before + 20_000);
  });
});

if (chromiumPath === undefined) process.stderr.write(`${CHROMIUM_MISSING}\n`);
const inBrowser = chromiumPath === undefined ? describe.skip : describe;

inBrowser('a wallet in a real browser', () => {
  test('pays for credits and for a search on the local chain, and signs in', async () => {
    const browser = await launchChromium();
    try {
      const page = await (await browser.newContext()).newPage();
      const payer = privateKeyToAccount(service.dev.payerPrivateKey as `0x${string}`);
      await page.exposeFunction('signForTest', (text: string) => {
        const typed = JSON.parse(text) as Parameters<typeof payer.signTypedData>[0];
        return payer.signTypedData(typed);
      });
      await page.exposeFunction('signMessageForTest', (raw: `0x${string}`) =>
        payer.signMessage({ message: { raw } }),
      );
      await page.addInitScript(`window.ethereum = {
        request({ method, params }) {
          if (method === 'eth_requestAccounts') return Promise.resolve(['${payer.address}']);
          if (method === 'eth_chainId') return Promise.resolve('0x2105');
          if (method === 'eth_signTypedData_v4') return window.signForTest(params[1]);
          if (method === 'personal_sign' && !window.declines) return window.signMessageForTest(params[0]);
          return Promise.reject({ code: method === 'personal_sign' ? 4001 : 4200 });
        },
      };`);
      const at = (path: string) => `${service.gatewayUrl}/console/${path}`;
      await page.goto(at('sign-up'));
      await page.getByLabel('Your name').fill('Ada');
      await page.getByLabel('Email address').fill('ada@example.org');
      await page.getByRole('button', { name: 'Sign up' }).click();
      await page.goto(at('outbox'));
      const link = await page.getByRole('link', { name: /verify\?token/ }).innerText();
      await page.goto(at(`verify${new URL(link).search}`));
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Confirm and sign in' }).click();
      await page.getByRole('link', { name: 'Billing' }).click();
      await page.getByLabel('Amount in USD').fill('0.5');
      await page.getByRole('button', { name: 'Pay with your browser wallet' }).click();
      await page.getByText('10,000 credits were added').waitFor();
      await page.getByRole('cell', { name: 'Top-up in USDC' }).waitFor();

      await page.getByRole('link', { name: 'Playground' }).click();
      await page.getByLabel('Query').fill('lighthouse lamp');
      await page.getByRole('button', { name: /^Pay .* USDC and search/ }).click();
      await page.getByText(/results in \d+ ms/).waitFor();
      expect(await page.locator('#results li').count()).toBeGreaterThan(0);
      expect(await page.locator('#reply').innerText()).toContain('"transaction": "0x');

      // The front page takes the same wallet, without an account.
      await page.goto(service.gatewayUrl);
      await page.getByRole('searchbox').fill('lighthouse lamp');
      await page.getByRole('button', { name: 'Pay $0.00005 with your wallet' }).click();
      await page.getByText(/^Paid, in transaction 0x[0-9a-f]{64}$/).waitFor();
      await page.getByRole('link', { name: 'Keeping a lighthouse' }).waitFor();
      await page.goto(at('billing'));

      // Who runs the service sees both kinds of revenue, the relayer and the index.
      await page.getByRole('link', { name: 'Operator' }).click();
      const figures = (await page.locator('.figures').allInnerTexts()).join(' ');
      for (const name of ['Payments in flight', 'Relayer 0x', 'ETH', 'Search index', 'ready']) {
        expect(figures).toContain(name);
      }
      const margin = page.getByRole('region', { name: 'Margin by day' });
      expect(await margin.innerText()).toMatch(/\$0\.0001\s+\$1\.50\s+\$0\.00\s+\$0\./);

      // The same wallet, once added to the profile, signs in without the password.
      await page.getByRole('link', { name: 'Profile' }).click();
      await page.evaluate('window.declines = true');
      await page.getByRole('button', { name: 'Link this browser’s wallet' }).click();
      await page.getByText('You declined in the wallet.').waitFor();
      await page.evaluate('window.declines = false');
      await page.getByRole('button', { name: 'Link this browser’s wallet' }).click();
      await page.getByRole('cell', { name: payer.address.toLowerCase(), exact: true }).waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      // The page's script has to be there: without it the form cannot ask the wallet.
      await page.getByRole('button', { name: 'Sign in with a wallet' }).waitFor();
      await page.waitForLoadState();
      await page.getByRole('button', { name: 'Sign in with a wallet' }).click();
      await page.getByRole('heading', { name: /^Hello/ }).waitFor();
    } finally {
      await browser.close();
    }
  });
});
