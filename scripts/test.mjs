// npm test: install, build, then run every test, and beside them lint and the Python SDK's own checks.
// Arguments go to Jest, and then nothing else runs: npm test -- test/edge/http
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { beside, checkNode, ensureBuilt, ensureInstalled, root } from './steps.mjs';

const jestArguments = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  join(root, 'node_modules/jest/bin/jest.js'),
];

function runJest(patterns) {
  console.log('▸ running the tests …');
  const jest = spawn(process.execPath, [...jestArguments, ...patterns], {
    cwd: root,
    stdio: 'inherit',
  });
  return new Promise((resolve) => jest.on('close', (exit) => resolve(exit ?? 1)));
}

const script = (name) => [process.execPath, [join(root, 'scripts', name)]];

/** One after the other: two cores have enough to do. */
async function runSideJobs() {
  const lint = await beside('npm run lint', ...script('lint.mjs'));
  const python = await beside('the Python SDK', ...script('test-python.mjs'));
  return lint && python;
}

checkNode();
await ensureInstalled();
await ensureBuilt();
const patterns = process.argv.slice(2);
if (patterns.length > 0) process.exit(await runJest(patterns));

const side = runSideJobs();
const code = await runJest([]);
process.stderr.write('▸ the tests have ended; waiting for what ran beside them …\n');
const isSideGood = await side;
if (code !== 0) console.log('▸ tests failed: see above');
process.exit(code === 0 && isSideGood ? 0 : 1);
