// npm run bench:search -- --pages FILE.jsonl[.gz] --queries FILE.json [--grow N] [--node PATH]
// Builds this project's engine, SQLite FTS5 and LanceDB over the same pages and measures them;
// with --engines search-core,opensearch this project's two, on the server that BENCH_OPENSEARCH names.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { grow } from './grow.mjs';
import { ensureBuilt, ensureInstalled, root } from '../../scripts/steps.mjs';

const WHAT = {
  top10: 'top 10 with text',
  candidates: '100 candidates with text',
  full: 'full answer',
};

const { values } = parseArgs({
  options: {
    pages: { type: 'string' },
    queries: { type: 'string' },
    /** Makes further pages until there are so many: see grow.mjs. */
    grow: { type: 'string' },
    engines: { type: 'string', default: 'search-core,fts5,lancedb' },
    /** A Node 22 or newer for LanceDB, where this one is older. */
    node: { type: 'string', default: process.execPath },
  },
});
if (!values.pages || !values.queries) {
  console.error('usage: npm run bench:search -- --pages FILE.jsonl[.gz] --queries FILE.json');
  process.exit(2);
}
await ensureInstalled();
await ensureBuilt();

const directory = mkdtempSync(join(tmpdir(), 'search402-bench-'));
const results = [];
if (values.grow) {
  const grown = join(directory, 'grown.jsonl');
  const { heaps } = await grow(values.pages, Number(values.grow), grown);
  console.log(`vocabulary grows as ${heaps.k.toFixed(1)} · words^${heaps.beta.toFixed(3)}`);
  values.pages = grown;
}
for (const engine of values.engines.split(',')) {
  if (engine === 'lancedb' && !existsSync(join(root, 'bench/node_modules/@lancedb'))) {
    console.log('LanceDB is not installed: npm install --prefix bench');
    continue;
  }
  const node = engine === 'lancedb' ? values.node : process.execPath;
  const args = [engine, join(directory, engine), values.pages, values.queries];
  const program = join(root, 'bench/search/measure.mjs');
  const { stdout, status } = spawnSync(node, ['--max-old-space-size=8000', program, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1 << 26,
  });
  if (status === 0) results.push(JSON.parse(stdout.trim().split('\n').at(-1)));
  else console.log(`${engine} failed`);
}
rmSync(directory, { recursive: true });
report();

function report() {
  const n = (value, digits = 2) => (value === undefined ? '–' : value.toFixed(digits));
  const cells = (list) => `| ${list.join(' | ')} |`;
  const load = loadavg()
    .map((x) => x.toFixed(1))
    .join(' ');
  console.log(
    `\n${results[0]?.built.pages} pages, ${n(results[0]?.built.textMB, 0)} MB of text; ` +
      `Node ${process.versions.node}, ${availableParallelism()} cores, load ${load}\n`,
  );
  console.log(
    cells(['Engine', 'build s (CPU s)', 'MB/s of CPU', 'disk MB', 'memory MB', 'open ms']),
  );
  console.log(cells(Array(6).fill('---')));
  for (const { name, built, openMs, rssMB } of results) {
    const speed = n(built.textMB / built.cpuSeconds, 1);
    const time = `${n(built.seconds, 1)} (${n(built.cpuSeconds, 1)})`;
    const memory = `${n(built.rssMB, 0)} building, ${n(rssMB, 0)} serving`;
    console.log(cells([name, time, speed, n(built.diskMB, 0), memory, n(openMs, 1)]));
  }
  const classes = Object.keys(results[0]?.classes.top10 ?? {});
  for (const measure of ['clock', 'cpu']) {
    console.log(`\nms of ${measure === 'cpu' ? 'processor time' : 'the clock'}: p50 / p95 / p99\n`);
    console.log(cells(['Answer', ...classes]));
    console.log(cells(Array(classes.length + 1).fill('---')));
    for (const { name, classes: kinds } of results) {
      for (const [kind, byClass] of Object.entries(kinds)) {
        const times = classes.map((one) => {
          const { p50, p95, p99 } = byClass[one][measure];
          return `${n(p50)} / ${n(p95)} / ${n(p99)}`;
        });
        const what = WHAT[kind];
        console.log(cells([`${name}, ${what}`, ...times]));
      }
    }
  }
  for (const { name, service } of results) {
    if (!service) continue;
    const rates = Object.entries(service.rates).map(([threads, x]) => `${threads}: ${n(x, 0)}`);
    console.log(`\n${name}: full answers per second by threads: ${rates.join(', ')}`);
    const [least, middle, most] = [0, 0.5, 1].map((x) =>
      n(service.addedMs[Math.round(x * (service.addedMs.length - 1))], 0),
    );
    console.log(
      `${name}: 1,000 new pages found after ${middle} ms (${least} to ${most}) while searching`,
    );
  }
}
