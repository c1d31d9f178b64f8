import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { publint } from 'publint';
import { GOOD_KEY } from '../support/sdk-gateway.js';
import { startSdkWorld, type SdkWorld } from '../support/sdk.js';

const exec = promisify(execFile);
const source = resolve('sdk/typescript');
const examples = join(source, 'examples');
let world: SdkWorld;
/** A project that has installed the packed package, and nothing else. */
let project: string;
let tarball: string;

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const node = async (args: string[], env: Record<string, string> = {}, cwd = project) => {
  const { stdout } = await exec(process.execPath, args, { cwd, env: { ...process.env, ...env } });
  return stdout;
};

beforeAll(async () => {
  await node([join(source, 'build.mjs')], {}, source);
  project = mkdtempSync(join(tmpdir(), 'search402-package-'));
  await exec(npm, ['pack', '--pack-destination', project], { cwd: source });
  tarball = join(project, readdirSync(project).find((name) => name.endsWith('.tgz')) ?? '');
  writeFileSync(join(project, 'package.json'), '{ "private": true }');
  const quiet = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund'];
  await exec(npm, ['install', ...quiet, tarball], { cwd: project });
  world = await startSdkWorld();
});
afterAll(async () => {
  await world.close();
  rmSync(project, { recursive: true, force: true });
});

/** What a bundler makes of one entry: its size, minified and compressed, and what it took. */
async function bundled(file: string, platform: 'browser' | 'node') {
  const dist = join(source, 'dist/esm');
  const { outputFiles, metafile } = await build({
    ...{ entryPoints: [file], absWorkingDir: dist, metafile: true, write: false, platform },
    ...{ bundle: true, minify: true, format: 'esm', target: 'es2022' },
  });
  const bytes = gzipSync(outputFiles[0]?.contents ?? '').length;
  return { bytes, files: Object.keys(metafile.inputs) };
}

/** What "are the types wrong" says of a tarball, but for Node 10, which this package does not know. */
async function typeProblems(file: string): Promise<readonly unknown[]> {
  const packed = createPackageFromTarballData(new Uint8Array(readFileSync(file)));
  const result = await checkPackage(packed);
  const problems = result.types === false ? ['no types'] : result.problems;
  const isLegacy = (problem: (typeof problems)[number]) =>
    typeof problem === 'object' &&
    'resolutionKind' in problem &&
    problem.resolutionKind === 'node10';
  return problems.filter((problem) => !isLegacy(problem));
}

describe('the packed package', () => {
  test('has nothing that publint would say', async () => {
    const { messages } = await publint({ pkgDir: source, pack: false, strict: true });
    expect(messages).toEqual([]);
  });

  test('would not pass with the types of ESM given to CommonJS', async () => {
    const spoilt = mkdtempSync(join(tmpdir(), 'search402-spoilt-'));
    cpSync(join(source, 'dist'), join(spoilt, 'dist'), { recursive: true });
    const text = readFileSync(join(source, 'package.json'), 'utf8');
    writeFileSync(join(spoilt, 'package.json'), text.replaceAll('/cjs/index.d', '/esm/index.d'));
    await exec(npm, ['pack', '--pack-destination', spoilt], { cwd: spoilt });
    const { messages } = await publint({ pkgDir: spoilt, pack: false, strict: true });
    expect(messages).toContainEqual(
      expect.objectContaining({ code: 'EXPORTS_TYPES_INVALID_FORMAT' }),
    );
    const name = readdirSync(spoilt).find((one) => one.endsWith('.tgz')) ?? '';
    expect(await typeProblems(join(spoilt, name))).toContainEqual(
      expect.objectContaining({ kind: 'FalseESM' }),
    );
    rmSync(spoilt, { recursive: true });
  });

  test('has the right types for every way to import it that its engines know', async () => {
    expect(await typeProblems(tarball)).toEqual([]);
  });

  test('needs no other package, and is the only thing installed', () => {
    const names = readdirSync(join(project, 'node_modules'));
    expect(names.filter((name) => !name.startsWith('.'))).toEqual(['search402']);
  });

  test.each(['search402', 'search402/node'])('gives %s to ESM and to CommonJS', async (name) => {
    const print = '.then((it) => console.log(Object.keys(it).join(" ")))';
    const imported = await node(['--input-type=module', '-e', `import('${name}')${print}`]);
    const required = `Promise.resolve(require('${name}'))${print}`;
    const names = (text: string) => text.trim().split(' ').sort();
    expect(names(await node(['--input-type=commonjs', '-e', required]))).toEqual(names(imported));
    expect(imported).toMatch(/Search402|FileStore/);
  });

  test('has nothing for Node in what browsers bundle, and is as small as its README says', async () => {
    const { bytes, files } = await bundled('index.js', 'browser');
    expect(files).toContain('client.js');
    expect(files.filter((file) => /^(?:node|cli)\//.test(file))).toEqual([]);
    const readme = readFileSync(join(source, 'README.md'), 'utf8');
    const kilobytes = /(\d+) kB minified and compressed/.exec(readme)?.[1];
    expect(kilobytes).toBe(String(Math.round(bytes / 1_000)));
    expect(bytes).toBeLessThan(23_000);
  });

  test('stays small for Node, stores included', async () => {
    const { bytes, files } = await bundled('node/index.js', 'node');
    expect(files).toContain('node/sqlite-store.js');
    expect(bytes).toBeLessThan(6_500);
  });

  test('brings the command line', async () => {
    const program = join(project, 'node_modules', '.bin', 'search402');
    const { stdout } = await exec(program, ['--version'], { shell: process.platform === 'win32' });
    expect(stdout.trim()).toBe('2.0.0');
  });
});

describe('the examples', () => {
  const run = (name: string, env: Record<string, string>) =>
    node([join(examples, name)], { SEARCH402_BASE_URL: world.proxy.url, ...env });

  test('search with a key', async () => {
    const out = await run('search-with-key.mjs', { SEARCH402_API_KEY: GOOD_KEY });
    expect(out).toContain('kestrel nesting cliffs 1 https://example.com/shared');
  });

  test('pay for a search', async () => {
    const out = await run('paid-search.mjs', {
      SEARCH402_PRIVATE_KEY: '42'.repeat(32),
      SEARCH402_STORE: join(project, 'payments.jsonl'),
    });
    expect(out).toContain('one search costs 0.00005 USD\npayment open: 50 units\npayment paid');
    expect(world.gateway.transfers).toHaveLength(1);
  });

  test('search many', async () => {
    const out = await run('search-many.mjs', { SEARCH402_API_KEY: GOOD_KEY });
    expect(out).toMatch(/^0\.0492 https:\/\/example\.com\/shared$/m);
  });
});
