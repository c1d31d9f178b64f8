/**
 * What the npm scripts share: install when the lock file changed, build when a source changed.
 * Plain JavaScript without dependencies, because it runs before anything is installed.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const NODE_FLOOR = [20, 19];

/** Refuses a Node that is too old, in one sentence, before a stranger error can. */
export function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor < NODE_FLOOR[1])) {
    console.error(
      `search402 needs Node ${NODE_FLOOR.join('.')} or newer; this is ${process.versions.node}. ` +
        'Install a current one from https://nodejs.org and run the command again.',
    );
    process.exit(1);
  }
}

/**
 * Runs one step, says what it is and how long it took, and exits with its code when it fails. All
 * of that goes to stderr: stdout belongs to the program that is run afterwards.
 */
export async function step(title, command, args, { quiet = true, env = {}, cwd = root } = {}) {
  const started = Date.now();
  process.stderr.write(`▸ ${title} …${quiet ? '' : '\n'}`);
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
  });
  const output = [];
  child.stdout?.on('data', (chunk) => output.push(chunk));
  child.stderr?.on('data', (chunk) => output.push(chunk));
  const code = await new Promise((resolve) => {
    child.on('error', (error) => {
      output.push(Buffer.from(`${error.message}\n`));
      resolve(1);
    });
    child.on('close', (exit) => resolve(exit ?? 1));
  });
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  if (code !== 0) {
    process.stderr.write(`${quiet ? '' : `▸ ${title}`} failed after ${seconds} s\n`);
    process.stderr.write(Buffer.concat(output));
    process.exit(code);
  }
  process.stderr.write(quiet ? ` ${seconds} s\n` : `▸ ${title}: ${seconds} s\n`);
}

/**
 * Runs a command beside others: its output is kept, and told whole when it is done. Resolves to
 * whether it went well.
 */
export async function beside(title, command, args) {
  const started = Date.now();
  process.stderr.write(`▸ ${title}: begun, beside the others\n`);
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = [];
  child.stdout.on('data', (chunk) => output.push(chunk));
  child.stderr.on('data', (chunk) => output.push(chunk));
  const code = await new Promise((resolve) => {
    child.on('error', (error) => {
      output.push(Buffer.from(`${error.message}\n`));
      resolve(1);
    });
    child.on('close', (exit) => resolve(exit ?? 1));
  });
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  const text = Buffer.concat(output).toString().trimEnd();
  const lines = text === '' ? '' : `${text.replaceAll(/^/gm, '  ')}\n`;
  process.stderr.write(
    `▸ ${title}: ${code === 0 ? 'done' : 'FAILED'} after ${seconds} s\n${lines}`,
  );
  return code === 0;
}

const stampOf = (name) => join(root, 'node_modules', `.search402-${name}`);
const sha256 = (text) => createHash('sha256').update(text).digest('hex');

function isFresh(stamp, value) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === value;
}

const lockHash = () =>
  sha256(readFileSync(join(root, 'package-lock.json')) + process.versions.modules);
/** What the stamp says where the packages for development are left out. */
const withoutDevelopment = (lock) => `production ${lock}`;
const QUIETLY = ['--ignore-scripts', '--loglevel=error'];

/**
 * Installs exactly the lock file, all of it, unless the installed packages already come from it.
 * Where a start has installed what it needs, the others are added: a service that runs keeps its own.
 */
export async function ensureInstalled() {
  const lock = lockHash();
  const stamp = stampOf('installed');
  if (isFresh(stamp, lock)) return;
  const isPart = isFresh(stamp, withoutDevelopment(lock));
  const command = isPart ? ['install', '--no-save'] : ['ci'];
  rmSync(stamp, { force: true });
  await step(
    isPart ? 'installing the packages for development' : 'installing packages (about a minute)',
    'npm',
    [...command, '--include=dev', ...QUIETLY],
  );
  writeFileSync(stamp, lock);
}

/**
 * Installs what running the service needs, half of everything. Where everything was installed once, it
 * is kept up to date as a whole: a start takes no package away.
 */
export async function ensureInstalledToRun() {
  const lock = lockHash();
  const stamp = stampOf('installed');
  if (isFresh(stamp, withoutDevelopment(lock))) return;
  if (hasDevelopment()) return ensureInstalled();
  await step('installing packages (first time, about half a minute)', 'npm', [
    ...['ci', '--omit=dev'],
    ...QUIETLY,
  ]);
  writeFileSync(stamp, withoutDevelopment(lock));
}

/** Whether everything was installed, of this lock file or of an earlier one. */
function hasDevelopment() {
  const stamp = stampOf('installed');
  return existsSync(stamp) && !readFileSync(stamp, 'utf8').startsWith('production');
}

export function* files(directory, matches) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== 'node_modules' && entry.name !== 'dist') yield* files(path, matches);
    } else if (matches(entry.name)) yield path;
  }
}

const SOURCES = [
  'gateway',
  'search-core',
  'contracts-abi',
  'network',
  'commands',
  'console',
  'scripts',
  'test',
  'sdk',
];
/** What of them is compiled into dist/; the SDK's own tools are not. */
const COMPILED = [...SOURCES.filter((name) => name !== 'sdk'), 'sdk/typescript/src'];
const isSource = (name) => /\.(ts|json)$/.test(name);

function sourceFiles() {
  return SOURCES.filter((name) => existsSync(join(root, name))).flatMap((name) => [
    ...files(join(root, name), isSource),
  ]);
}

/** Removes compiled files whose source is gone, so that no deleted test runs. */
function removeLeftovers() {
  const dist = join(root, 'dist');
  if (!existsSync(dist)) return;
  for (const file of files(dist, (name) => /\.js(\.map)?$/.test(name))) {
    const source = join(root, relative(dist, file)).replace(/\.js(\.map)?$/, '.ts');
    if (!existsSync(source)) rmSync(file);
  }
}

/** One text for the present state of every source. */
function sourcesHash() {
  const facts = [join(root, 'tsconfig.json'), ...sourceFiles()].map((path) => {
    const { mtimeMs, size } = statSync(path);
    return `${relative(root, path)} ${mtimeMs} ${size}`;
  });
  return sha256(facts.join('\n'));
}

const builtStamp = join(root, 'dist', '.built');

/** Compiles when a source file is newer than the last build: two seconds, because no type is checked. */
export async function ensureBuilt() {
  const now = sourcesHash();
  if (isFresh(builtStamp, now)) return;
  removeLeftovers();
  rmSync(builtStamp, { force: true });
  const transpile = join(root, 'scripts', 'transpile.mjs');
  await step('compiling', process.execPath, [transpile, ...COMPILED]);
  writeFileSync(builtStamp, now);
}

/** Checks the types of everything. It needs the packages for development. */
export async function checkTypes() {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await step('checking types', process.execPath, [tsc, '--project', 'tsconfig.json']);
  await step('checking types of the console', process.execPath, [tsc, '--project', 'console']);
}
