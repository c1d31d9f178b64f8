// npm run bench:sdk: what the packages weigh in a browser, and what importing them costs a process
// that has not seen them before. Builds the TypeScript package first; Python only where it is.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const sdk = join(root, 'sdk/typescript');
const ROUNDS = 31;

function run(command, args, env = {}) {
  const started = performance.now();
  const options = { cwd: root, encoding: 'utf8', env: { ...process.env, ...env } };
  const { status, stdout, stderr } = spawnSync(command, args, options);
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`);
  return { ms: performance.now() - started, stdout };
}

/** Milliseconds of the import itself, and of the whole process beside one that imports nothing. */
function coldImport(command, argsOf, code, env) {
  const inside = [];
  const whole = [];
  const empty = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { ms, stdout } = run(command, argsOf(code), env);
    inside.push(Number(stdout));
    whole.push(ms);
    empty.push(run(command, argsOf(''), env).ms);
  }
  const figures = [inside, whole, empty].map((values) => {
    const [best = 0] = values.sort((a, b) => a - b);
    return `${best.toFixed(1)} / ${values[Math.floor(ROUNDS / 2)].toFixed(1)} ms`;
  });
  return `${figures[0]} (process ${figures[1]}; without it ${figures[2]})`;
}

run(process.execPath, [join(sdk, 'build.mjs')]);
for (const [name, file, platform] of [
  ['search402', 'index.js', 'browser'],
  ['search402/node', 'node/index.js', 'node'],
]) {
  const { outputFiles } = await build({
    entryPoints: [join(sdk, 'dist/esm', file)],
    ...{ bundle: true, minify: true, write: false, format: 'esm', platform, target: 'es2022' },
  });
  const bytes = outputFiles[0].contents;
  const [gzip, brotli] = [gzipSync(bytes).length, brotliCompressSync(bytes).length];
  console.log(`${name}: ${bytes.length} bytes minified, ${gzip} with gzip, ${brotli} with brotli`);
}

const [esm, cjs] = ['esm', 'cjs'].map((kind) =>
  JSON.stringify(join(sdk, 'dist', kind, 'index.js')),
);
const timed = (load) => `const t = performance.now(); ${load}; console.log(performance.now() - t)`;
const node = (kind) => (code) => [`--input-type=${kind}`, '-e', code];
console.log(`Node ${process.versions.node}, best / median of ${ROUNDS} processes`);
console.log(
  `import: ${coldImport(process.execPath, node('module'), timed(`await import(${esm})`))}`,
);
console.log(`require: ${coldImport(process.execPath, node('commonjs'), timed(`require(${cjs})`))}`);

const python = process.env.PYTHON ?? 'python3';
const env = { PYTHONPATH: join(root, 'sdk/python/src') };
if (spawnSync(python, ['-c', 'import httpx']).status === 0) {
  const code =
    'import time; t = time.perf_counter(); import search402; print((time.perf_counter() - t) * 1000)';
  const alone = code.replace('import search402', 'import httpx');
  const args = (text) => ['-c', text];
  console.log(run(python, ['--version']).stdout.trim());
  console.log(`import search402: ${coldImport(python, args, code, env)}`);
  console.log(`httpx alone: ${coldImport(python, args, alone, env)}`);
} else console.log('Python is not measured: PYTHON names none that has httpx');
