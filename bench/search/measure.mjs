// node bench/search/measure.mjs ENGINE DIRECTORY PAGES QUERIES: builds and measures one engine
// in this process, and prints one line of JSON.
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pagesOf, queriesOf } from './corpus.mjs';

const [engineName, directory, pagesFile, queriesFile] = process.argv.slice(2);
const engine = await import(`./engines/${engineName}.mjs`);
const queries = queriesOf(queriesFile);
const seconds = () => performance.now() / 1000;
const megabytes = (bytes) => bytes / 1e6;

function sizeOf(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

/** Counts what goes by, and the time that making the corpus takes, which is not the engine's. */
async function* counted(pages, totals) {
  for (;;) {
    const [from, cpuFrom] = [seconds(), cpuMs()];
    const { value, done } = await pages.next();
    totals.corpusSeconds += seconds() - from;
    totals.corpusCpuMs += cpuMs() - cpuFrom;
    if (done) return;
    totals.pages++;
    totals.textBytes += Buffer.byteLength(value.text);
    totals.rssMax = Math.max(
      totals.rssMax,
      totals.pages % 500 === 0 ? process.memoryUsage.rss() : 0,
    );
    yield value;
  }
}

async function build() {
  rmSync(directory, { recursive: true, force: true });
  const totals = { pages: 0, textBytes: 0, corpusSeconds: 0, corpusCpuMs: 0, rssMax: 0 };
  const [started, cpuStarted] = [seconds(), cpuMs()];
  await engine.build(directory, counted(pagesOf(pagesFile), totals));
  const wall = seconds() - started - totals.corpusSeconds;
  const cpu = cpuMs() - cpuStarted - totals.corpusCpuMs;
  return {
    pages: totals.pages,
    textMB: megabytes(totals.textBytes),
    seconds: wall,
    cpuSeconds: cpu / 1000,
    rssMB: megabytes(totals.rssMax),
    diskMB: megabytes(await (engine.diskBytes?.() ?? sizeOf(directory))),
  };
}

function percentiles(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** Milliseconds of processor time that this process has used, all its threads together. */
function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Times every query of a class after one round to warm up: by the clock, and in processor time,
 * which other programs on the machine disturb less.
 */
async function time(search, list) {
  for (const { q } of list) await search(q);
  const [times, cpuTimes] = [[], []];
  for (const { q } of list) {
    const [started, cpuStarted] = [performance.now(), cpuMs()];
    await search(q);
    times.push(performance.now() - started);
    cpuTimes.push(cpuMs() - cpuStarted);
  }
  return { clock: percentiles(times), cpu: percentiles(cpuTimes) };
}

const built = await build();
const openedAt = performance.now();
const opened = await engine.open(directory);
const openMs = performance.now() - openedAt;
const classes = {};
for (const kind of ['top10', 'candidates', 'full']) {
  if (!opened[kind]) continue;
  classes[kind] = {};
  for (const [name, list] of Object.entries(queries)) {
    classes[kind][name] = await time((q) => opened[kind](q), list);
  }
}
const rssMB = megabytes(process.memoryUsage.rss());
await opened.close();
const all = Object.values(queries).flatMap((list) => list.map(({ q }) => q));
const service = engine.service ? await engine.service(directory, all) : null;
console.log(JSON.stringify({ name: engine.name, built, openMs, rssMB, classes, service }));
process.exit(0);
