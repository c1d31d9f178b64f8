// npm run test:repeat -- [PATTERN …]: runs tests ten times, every other time beside a process on each
// core that does nothing but count. Tells how many runs failed and keeps what they wrote.
// TIMES=4 npm run test:repeat -- test/dev repeats four times.
import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkNode, ensureBuilt, ensureInstalled, root } from './steps.mjs';

const BUSY = 'for (;;);';

/** Keeps every core busy until the function that it returns is called. */
function startBurners() {
  const burners = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', BUSY], { stdio: 'ignore' }),
  );
  const stop = () => burners.forEach((burner) => burner.kill('SIGKILL'));
  process.once('exit', stop);
  return () => {
    process.off('exit', stop);
    stop();
  };
}

async function runOnce(patterns) {
  const jest = spawn(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      join(root, 'node_modules/jest/bin/jest.js'),
      ...patterns,
    ],
    { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const output = [];
  for (const stream of [jest.stdout, jest.stderr]) stream.on('data', (chunk) => output.push(chunk));
  const code = await new Promise((resolve) => jest.on('close', resolve));
  return { code, output: Buffer.concat(output) };
}

checkNode();
await ensureInstalled();
await ensureBuilt();
const patterns = process.argv.slice(2);
const times = Number(process.env.TIMES ?? 10);
const folder = mkdtempSync(join(tmpdir(), 'search402-repeat-'));
let failures = 0;
for (let run = 1; run <= times; run += 1) {
  const isBusy = run % 2 === 0;
  const stopBurners = isBusy ? startBurners() : () => undefined;
  const started = Date.now();
  const { code, output } = await runOnce(patterns);
  stopBurners();
  const isGood = code === 0 && !output.includes('failed to exit gracefully');
  const file = join(folder, `run-${run}.log`);
  if (!isGood) {
    failures += 1;
    writeFileSync(file, output);
  }
  const seconds = ((Date.now() - started) / 1000).toFixed(0);
  const how = isBusy ? 'all cores busy' : 'alone';
  console.log(
    `run ${run} of ${times}, ${how}: ${isGood ? 'passed' : `FAILED, see ${file}`}, ${seconds} s`,
  );
}
console.log(`${failures} of ${times} runs failed`);
process.exit(failures === 0 ? 0 : 1);
