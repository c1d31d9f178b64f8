import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/opt/google/chrome/chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** The browser that tests drive: CHROMIUM_PATH, or where systems usually have it. */
export const chromiumPath = [process.env.CHROMIUM_PATH ?? '', ...PLACES].find(
  (path) => path !== '' && existsSync(path),
);

export const CHROMIUM_MISSING =
  'There is no Chromium here, so the tests in a real browser do not run. Install it ' +
  '(Debian: apt-get install chromium) or set CHROMIUM_PATH to its program.';

export function launchChromium(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error(CHROMIUM_MISSING);
  return chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
}
