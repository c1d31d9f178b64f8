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
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { checkNode, ensureBuilt, ensureInstalled, root, step } from './steps.mjs';

const sdk = join(root, 'sdk', 'python');
const PYTHON_FLOOR = [3, 10];

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

/** An environment with exactly the pinned requirements; kept until they change. */
async function testEnvironment(python, base) {
  const requirements = join(sdk, 'requirements-test.txt');
  const content = readFileSync(requirements, 'utf8') + python.version;
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const environment = join(base, digest);
  const stamp = join(environment, '.complete');
  if (existsSync(stamp)) return environment;
  rmSync(environment, { recursive: true, force: true });
  await step('making a Python environment', python.name, ['-m', 'venv', environment]);
  await step('installing the pinned Python packages', bin(environment, 'python'), [
    ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'],
    ...['--requirement', requirements],
  ]);
  writeFileSync(stamp, '');
  return environment;
}

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
  await step('installing the wheel into a clean environment', python.name, ['-m', 'venv', clean]);
  await step('importing it from there', bin(clean, 'python'), [
    '-c',
    [
      'import subprocess, sys',
      `subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", ${JSON.stringify(join(out, wheel))}])`,
      'import importlib.resources, search402',
      'assert importlib.resources.files("search402").joinpath("py.typed").is_file()',
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
const run = (title, name, args, env = {}) =>
  step(title, bin(environment, name), args, { cwd: sdk, env: { ...inSdk, ...env } });

await run('checking the format of the Python SDK', 'ruff', [
  'format',
  '--check',
  '--no-cache',
  '.',
]);
await run('linting the Python SDK', 'ruff', ['check', '--no-cache', '.']);
await run('checking its types with mypy --strict', 'mypy', [`--cache-dir=${join(base, 'mypy')}`]);
await run('checking its types with pyright', 'pyright', [
  '--pythonpath',
  bin(environment, 'python'),
]);
await withServer((url) =>
  run(
    `testing the Python SDK on Python ${python.version}`,
    'pytest',
    ['-q', '-p', 'no:cacheprovider'],
    {
      SEARCH402_TEST_SERVER: url,
    },
  ),
);
await checkWheel(python, environment);
