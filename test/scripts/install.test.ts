/** Which packages the npm scripts install, and when: with an npm that only writes down what it is asked. */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, test } from '@jest/globals';
import { removeTemporaries, temporary } from '../support/temporary.js';

removeTemporaries();
const SCRIPTS = new URL('../../../scripts/', import.meta.url).pathname;
const FAKE_NPM = `#!/bin/sh
echo "$@" >> npm.log
[ "$1" = ci ] && rm -rf node_modules
mkdir -p node_modules
`;

let root: string;
beforeEach(() => {
  root = temporary();
  mkdirSync(join(root, 'bin'));
  cpSync(join(SCRIPTS, 'steps.mjs'), join(root, 'scripts/steps.mjs'));
  writeFileSync(join(root, 'bin/npm'), FAKE_NPM, { mode: 0o755 });
  lock('first');
});

const lock = (text: string) => writeFileSync(join(root, 'package-lock.json'), text);

/** What npm was asked for by one step, without the flags that are always there. */
async function asked(step: 'ensureInstalled' | 'ensureInstalledToRun'): Promise<string[]> {
  const script = `import('./scripts/steps.mjs').then((steps) => steps.${step}())`;
  await promisify(execFile)(process.execPath, ['-e', script], {
    cwd: root,
    env: { PATH: `${join(root, 'bin')}:${process.env.PATH ?? ''}` },
  });
  const log = join(root, 'npm.log');
  const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  writeFileSync(log, '');
  return lines.flatMap((line) => line.replace(/ --ignore-scripts.*/, '') || []);
}

const start = () => asked('ensureInstalledToRun');
const runTests = () => asked('ensureInstalled');

test('a start on a fresh clone leaves the packages for development out', async () => {
  expect(await start()).toEqual(['ci --omit=dev']);
  expect(await start()).toEqual([]);
});

test('the tests add what a start left out, and a later start takes nothing away', async () => {
  await start();
  expect(await runTests()).toEqual(['install --no-save --include=dev']);
  expect(await start()).toEqual([]);
  expect(await runTests()).toEqual([]);
});

test('the tests on a fresh clone install everything at once', async () => {
  expect(await runTests()).toEqual(['ci --include=dev']);
  expect(await start()).toEqual([]);
});

test('another lock file is installed to the extent of what was there', async () => {
  await start();
  lock('second');
  expect(await start()).toEqual(['ci --omit=dev']);
  lock('third');
  expect(await runTests()).toEqual(['ci --include=dev']);
  lock('fourth');
  expect(await start()).toEqual(['ci --include=dev']);
});

test('an installation that was broken off is made anew', async () => {
  await start();
  writeFileSync(join(root, 'bin/npm'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  await expect(runTests()).rejects.toThrow();
  writeFileSync(join(root, 'bin/npm'), FAKE_NPM, { mode: 0o755 });
  expect(await start()).toEqual(['ci --omit=dev']);
});
