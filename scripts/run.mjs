// node scripts/run.mjs PROGRAM.js [ARG …]: build if needed, then run a compiled program of dist/.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { checkNode, ensureBuilt, ensureInstalled, root } from './steps.mjs';

checkNode();
await ensureInstalled();
await ensureBuilt();
const [program = '', ...args] = process.argv.slice(2);
const child = spawn(
  process.execPath,
  ['--enable-source-maps', join(root, 'dist', program), ...args],
  { stdio: 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('close', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
