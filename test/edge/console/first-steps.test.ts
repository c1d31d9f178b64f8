/** The two pages that every newcomer meets, in a real browser: are they laid out to be read? */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { consentPage } from '../../../gateway/edge/oauth/pages.js';
import { pageText } from '../../../gateway/edge/console/page.js';
import { CHROMIUM_MISSING, chromiumPath, launchChromium } from '../../support/chromium.js';
import { openConsoleWorld, type ConsoleWorld } from '../../support/console.js';
import { openTab, signedUp } from '../../support/tab.js';

if (chromiumPath === undefined) process.stderr.write(`${CHROMIUM_MISSING}\n`);
const inBrowser = chromiumPath === undefined ? describe.skip : describe;

const WIDTHS = [360, 768, 1280] as const;

inBrowser('a newcomer', () => {
  let world: ConsoleWorld;
  let browser: Browser;
  beforeAll(async () => {
    [world, browser] = await Promise.all([openConsoleWorld(), launchChromium()]);
  });
  afterAll(async () => {
    await browser.close();
    await world.close();
  });

  const boxOf = async (page: Page, selector: string) => {
    const box = await page.locator(selector).first().boundingBox();
    if (!box) throw new Error(`${selector} is not shown`);
    return box;
  };

  test.each(WIDTHS)(
    'who connects an application at %d pixels sees each choice on one line',
    async (width) => {
      const page = await (await browser.newContext({ viewport: { width, height: 800 } })).newPage();
      const text = pageText(
        consentPage({
          clientName: 'Claude Code',
          describedAt: undefined,
          redirectHost: 'localhost:33418',
          person: { name: 'Ada', email: 'ada@example.org' },
          accounts: [
            { id: 'a', name: 'Ada' },
            { id: 'b', name: 'Analytical Engines' },
          ],
        }),
      );
      await page.route('**/consent', (route) =>
        route.fulfill({ body: text, contentType: 'text/html' }),
      );
      await page.goto(`${world.url}/consent`);
      const radio = await boxOf(page, 'input[type=radio]');
      expect(radio.width).toBeLessThanOrEqual(24);
      const label = await boxOf(page, '.choices label');
      expect(label.height).toBeLessThan(48);
      expect(radio.y).toBeGreaterThanOrEqual(label.y);
      expect(radio.y + radio.height).toBeLessThanOrEqual(label.y + label.height);
      await page.getByRole('radio', { name: 'Analytical Engines' }).check();
      const [connect, cancel] = [
        await boxOf(page, 'button[value=allow]'),
        await boxOf(page, 'button[value=deny]'),
      ];
      expect(connect.y).toBe(cancel.y);
      await page.context().close();
    },
  );

  test.each(WIDTHS)(
    'reads the first mail at %d pixels in lines of a mail’s length',
    async (width) => {
      const tab = openTab(world);
      const email = `ada${width}@example.org`;
      await tab.post('/console/sign-up', { name: 'Ada', email });
      await world.linkTo(email);
      const page = await (await browser.newContext({ viewport: { width, height: 800 } })).newPage();
      await page.goto(`${world.url}/console/outbox`);
      const mail = await boxOf(page, 'pre.mail');
      expect(mail.width).toBeGreaterThan(Math.min(width, 480) * 0.8);
      const beyond = await page.evaluate<number>(
        'document.documentElement.scrollWidth - window.innerWidth',
      );
      expect(beyond).toBeLessThanOrEqual(0);
      await page.context().close();
    },
  );

  test('who reloads the page with a new key creates no second one', async () => {
    const tab = await signedUp(world, 'reload@example.org');
    const context = await browser.newContext();
    const cookies = [...tab.cookies].map(([name, value]) => ({ name, value, url: world.url }));
    await context.addCookies(cookies);
    const page = await context.newPage();
    await page.goto(`${world.url}/console/keys`);
    await page.getByRole('link', { name: 'Create key' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('nightly');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await page.locator('#new-key').waitFor();
    await page.reload();
    await page.getByRole('row', { name: /nightly/ }).waitFor();
    expect(await page.getByRole('row', { name: /nightly/ }).count()).toBe(1);
    expect(await page.locator('#new-key').count()).toBe(0);
    await context.close();
  });
});
