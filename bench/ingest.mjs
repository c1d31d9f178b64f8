// npm run bench:ingest -- --pages FILE.jsonl[.gz] [--format wet|warc] [--copies N]
// Writes an archive of the pages, as many times over as asked, with new addresses and a word of its
// own in each sentence, measures time and memory of `npm run index -- FORMAT` over it, and checks the
// index that came out.
import { spawn, spawnSync } from 'node:child_process';
import { createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { ensureBuilt, ensureInstalled, root } from '../scripts/steps.mjs';
import { pagesOf } from './search/corpus.mjs';

const { values } = parseArgs({
  options: {
    pages: { type: 'string' },
    format: { type: 'string', default: 'wet' },
    copies: { type: 'string', default: '1' },
  },
});
if (!values.pages || !['wet', 'warc'].includes(values.format)) {
  console.error('usage: npm run bench:ingest -- --pages FILE.jsonl[.gz] [--format wet|warc]');
  process.exit(2);
}
await ensureInstalled();
await ensureBuilt();

const DATE = '2026-01-01T00:00:00Z';
const PARTS = 4;

/** One WARC record (ISO 28500): an extracted text, or a response with a page of HTML. */
function record(url, title, text) {
  const isText = values.format === 'wet';
  const paragraphs = text.split(/\n\n+/).map((one) => `<p>${escaped(one)}</p>`);
  const html =
    `<!doctype html><html lang="en"><head><title>${escaped(title)}</title></head><body>` +
    `<nav><a href="/">Home</a></nav><main><h1>${escaped(title)}</h1>${paragraphs.join('\n')}` +
    '</main></body></html>';
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n';
  const block = Buffer.from(isText ? `${title}\n${text}` : head + html);
  const headers = [
    'WARC/1.0',
    `WARC-Type: ${isText ? 'conversion' : 'response'}`,
    `WARC-Target-URI: ${url}`,
    `WARC-Date: ${DATE}`,
    `Content-Type: ${isText ? 'text/plain' : 'application/http; msgtype=response'}`,
    `Content-Length: ${block.length}`,
  ];
  return Buffer.concat([
    Buffer.from(`${headers.join('\r\n')}\r\n\r\n`),
    block,
    Buffer.from('\r\n\r\n'),
  ]);
}

const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');

/** Writes the archive, a gzip member a record; returns the bytes of its records. */
async function write(file) {
  const stream = createWriteStream(file);
  let bytes = 0;
  let n = 0;
  for (let copy = 0; copy < Number(values.copies); copy++) {
    for await (const { title, text } of pagesOf(values.pages)) {
      const own = copy === 0 ? text : text.replace(/\. /g, `. Copy${copy}x${n} `);
      const one = record(`https://archive.example/${n++}`, `${title} ${copy || ''}`, own);
      bytes += one.length;
      if (!stream.write(gzipSync(one, { level: 1 }))) await once(stream, 'drain');
    }
  }
  stream.end();
  await once(stream, 'close');
  return bytes;
}

/** Runs the command; samples its memory (all threads) and processor time, from proc(5). */
async function index(file, indexDir) {
  const args = [join(root, 'dist/search-core/cli.js'), values.format, file, '--index', indexDir];
  const child = spawn(process.execPath, [...args, '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const samples = [];
  let cpuSeconds = 0;
  const timer = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      samples.push(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1e3);
      const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1].split(' ');
      cpuSeconds = (Number(stat[11]) + Number(stat[12])) / 100;
    } catch {
      // It ended between two samples.
    }
  }, 100);
  let out = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  await once(child, 'close');
  clearInterval(timer);
  return { report: JSON.parse(out), samples, cpuSeconds };
}

/** What `npm run index -- check` says about the index. */
function check(indexDir) {
  const args = [join(root, 'dist/search-core/cli.js'), 'check', '--index', indexDir];
  return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout.trim();
}

const directory = mkdtempSync(join(tmpdir(), 'search402-ingest-'));
try {
  const file = join(directory, `pages.${values.format}.gz`);
  const bytes = await write(file);
  const { report, samples, cpuSeconds } = await index(file, join(directory, 'index'));
  const size = Math.ceil(samples.length / PARTS);
  const peaks = Array.from({ length: PARTS }, (_, i) =>
    Math.max(0, ...samples.slice(i * size, (i + 1) * size)).toFixed(0),
  );
  const { kept, dropped, seconds } = report;
  console.log(
    `${values.format}: ${(bytes / 1e9).toFixed(2)} GB of records, ` +
      `${(statSync(file).size / 1e9).toFixed(2)} GB packed; ${kept} pages kept, ${dropped} dropped`,
  );
  for (const { reason, count } of report.drops) console.log(`  ${reason}: ${count}`);
  console.log(
    `${seconds.toFixed(0)} s, ${cpuSeconds.toFixed(0)} s of processor time, ` +
      `load ${loadavg()[0].toFixed(0)}; most memory in each quarter of the time, MB: ${peaks.join(', ')}`,
  );
  console.log(check(join(directory, 'index')));
} finally {
  rmSync(directory, { recursive: true });
}
