// node scripts/test-python.mjs: checks the Python SDK. Lint, types (mypy strict, pyright), tests
// against the test gateway, and the built wheel in a clean environment. Says plainly when there is
// no Python to do it with: this project asks a newcomer for Node alone.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkNode, ensureBuilt, ensureInstalled, root, step } from './steps.mjs';

const sdk = join(root, 'sdk', 'python');
const PYTHON_FLOOR = [3, 10];
/** Longer than it ever takes to make an environment. */
const LOCK_STALE_MS = 10 * 60_000;
/** Most tests wait for the gateway; more than this gains nothing on two cores. */
const TEST_WORKERS = 4;
const REAL = join('tests', 'test_real_gateway.py');

/** The first Python that is new enough and can make environments, or why there is none. */
function findPython() {
  const names = [process.env.PYTHON, 'python3', 'python', 'python3.13', 'python3.12', 'python3.10'];
  const check = 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])';
  for (const name of names.filter(Boolean)) {
    const { status, stdout } = spawnSync(name, ['-c', check], { encoding: 'utf8' });
    if (status !== 0) continue;
    const [major = 0, minor = 0] = stdout.trim().split('.').map(Number);
    if (major > PYTHON_FLOOR[0] || (major === PYTHON_FLOOR[0] && minor >= PYTHON_FLOOR[1])) {
      return { name, version: stdout.trim() };
    }
  }
  return undefined;
}

function skip(reason) {
  console.log(`▸ the Python SDK was NOT tested: ${reason}`);
  process.exit(0);
}

const bin = (environment, name) =>
  process.platform === 'win32'
    ? join(environment, 'Scripts', `${name}.exe`)
    : join(environment, 'bin', name);

const hash = (text) => createHash('sha256').update(text).digest('hex').slice(0, 16);

/** Runs `work` while no other run of this program is in it; a killed one is waited for once. */
async function alone(lock, work) {
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > LOCK_STALE_MS) rmSync(lock, { recursive: true, force: true });
    await sleep(200);
  }
  const release = () => rmSync(lock, { recursive: true, force: true });
  process.on('exit', release);
  try {
    return await work();
  } finally {
    release();
  }
}

/** An environment with exactly the pinned requirements; kept until they change. */
async function testEnvironment(python, base) {
  const requirements = join(sdk, 'requirements-test.txt');
  const environment = join(base, hash(readFileSync(requirements, 'utf8') + python.version));
  const stamp = join(environment, '.complete');
  await alone(`${environment}.lock`, async () => {
    if (existsSync(stamp)) return;
    rmSync(environment, { recursive: true, force: true });
    await step('making a Python environment', python.name, ['-m', 'venv', environment]);
    await step('installing the pinned Python packages', bin(environment, 'python'), [
      ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'],
      ...['--requirement', requirements],
    ]);
    // Pyright's package fetches Pyright at its first run.
    await step('fetching pyright', bin(environment, 'pyright'), ['--version'], {
      env: pyrightOf(environment),
    });
    writeFileSync(stamp, '');
  });
  return environment;
}

/** Where Pyright is kept, and no question to the registry for a newer one at each run. */
const pyrightOf = (environment) => ({
  PYRIGHT_PYTHON_CACHE_DIR: join(environment, 'pyright'),
  PYRIGHT_PYTHON_IGNORE_WARNINGS: '1',
});

/** The wheel as a user would get it: built, installed into a clean environment, and imported. */
async function checkWheel(python, environment) {
  const scratch = mkdtempSync(join(tmpdir(), 'search402-wheel-'));
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
  const out = join(scratch, 'wheel');
  const clean = join(scratch, 'clean');
  await step('building the wheel', bin(environment, 'python'), [
    ...['-m', 'build', '--wheel', '--no-isolation', '--outdir', out, sdk],
  ]);
  const wheel = readdirSync(out).find((name) => name.endsWith('.whl')) ?? '';
  // Without a pip of its own, which takes most of the time to make an environment.
  await step('making a clean environment', python.name, ['-m', 'venv', '--without-pip', clean]);
  await step('installing the wheel into it', bin(environment, 'python'), [
    ...['-m', 'pip', '--python', bin(clean, 'python'), 'install', '--quiet'],
    ...['--disable-pip-version-check', join(out, wheel)],
  ]);
  await step('importing it from there', bin(clean, 'python'), [
    '-c',
    [
      'import importlib.metadata, importlib.resources, search402',
      'assert importlib.resources.files("search402").joinpath("py.typed").is_file()',
      'assert importlib.metadata.version("search402") == search402.__version__',
      'search402.Search402(api_key="x").close()',
    ].join('\n'),
  ]);
}

/** Starts the test gateway and gives its address to `work`. */
async function withServer(work) {
  const program = join(root, 'dist', 'test', 'support', 'sdk-world-server.js');
  const server = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const line = await new Promise((resolve, reject) => {
      server.stdout.once('data', (chunk) => resolve(String(chunk)));
      server.once('close', () => reject(new Error('the test gateway did not start')));
    });
    await work(line.trim());
  } finally {
    server.stdin.end();
    await new Promise((resolve) => server.once('close', resolve));
  }
}

checkNode();
const python = findPython();
if (!python) skip(`it needs Python ${PYTHON_FLOOR.join('.')} or newer with venv and pip`);
await ensureInstalled();
await ensureBuilt();
const base = join(tmpdir(), `search402-python-${userInfo().username}`);
mkdirSync(base, { recursive: true, mode: 0o700 });
const environment = await testEnvironment(python, base);
const inSdk = { PYTHONPATH: join(sdk, 'src'), PYTHONDONTWRITEBYTECODE: '1' };
const own = { cwd: sdk, env: { ...inSdk, ...pyrightOf(environment) } };
const lint = (title, name, args) => step(title, bin(environment, name), args, own);

await lint('checking that the blocking client is the generated one', 'python', [
  'generate.py',
  '--check',
]);
await lint('checking the format of the Python SDK', 'ruff', [
  'format',
  '--check',
  '--no-cache',
  '.',
]);
await lint('linting the Python SDK', 'ruff', ['check', '--no-cache', '.']);
await lint('checking its types with mypy --strict', 'mypy', [
  // One for each checkout: two runs must not write one cache.
  `--cache-dir=${join(base, `mypy-${hash(root)}`)}`,
]);
await lint('checking its types with pyright', 'pyright', [
  '--pythonpath',
  bin(environment, 'python'),
]);
await withServer(async (url) => {
  const test = (title, args) =>
    step(title, bin(environment, 'pytest'), ['-q', '-p', 'no:cacheprovider', ...args], {
      ...own,
      env: { ...own.env, SEARCH402_TEST_SERVER: url },
    });
  // Each of these has a world of its own; the real gateway is one, with one chain.
  const workers = ['-n', String(TEST_WORKERS)];
  const title = `testing the Python SDK on Python ${python.version}`;
  await test(title, [...workers, `--ignore=${REAL}`]);
  await test('testing it on the real gateway', [REAL]);
});
await checkWheel(python, environment);
