// node scripts/run.mjs [--all] PROGRAM.js [ARG …]: build if needed, then run a compiled program of
// dist/. `--all`: it needs the packages for development, too.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { checkNode, ensureBuilt, ensureInstalled, ensureInstalledToRun, root } from './steps.mjs';

checkNode();
const words = process.argv.slice(2);
const needsAll = words[0] === '--all';
if (needsAll) {
  words.shift();
  await ensureInstalled();
} else {
  await ensureInstalledToRun();
}
await ensureBuilt();
const [program = '', ...args] = words;
const child = spawn(
  process.execPath,
  ['--enable-source-maps', join(root, 'dist', program), ...args],
  { stdio: 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('close', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
