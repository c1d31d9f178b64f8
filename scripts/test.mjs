// npm test: install, lint, build, and run every test. Arguments go to Jest: npm test -- test/http
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { checkNode, ensureBuilt, ensureInstalled, root } from './steps.mjs';

checkNode();
await ensureInstalled();
const patterns = process.argv.slice(2);
if (patterns.length === 0) await import('./lint.mjs');
await ensureBuilt();
console.log('▸ running the tests …');
const jest = spawn(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    join(root, 'node_modules/jest/bin/jest.js'),
    ...patterns,
  ],
  { cwd: root, stdio: 'inherit' },
);
const code = await new Promise((resolve) => jest.on('close', (exit) => resolve(exit ?? 1)));
if (code !== 0) process.exit(code);
if (patterns.length === 0) await import('./test-python.mjs');
