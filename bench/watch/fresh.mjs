/**
 * How soon changed pages are found, and what queries pay meanwhile: a search-core over an index of
 * real pages answers queries one after the other while a watch takes in changed pages, dropped as
 * JSON Lines or fetched from sites on this machine.
 * node bench/watch/fresh.mjs PAGES.jsonl.gz QUERIES.json [changed pages] [drop|sites]
 */
import { fork } from 'node:child_process';
import {
  createReadStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';

const [pagesFile, queriesFile, changedText = '10000', how = 'drop'] = process.argv.slice(2);
const changed = Number(changedText);
const ROOT = new URL('../../', import.meta.url).pathname;
const directory = mkdtempSync(join(tmpdir(), 'fresh-'));
const index = join(directory, 'index');
const print = (what, value) => console.log(what.padEnd(44), value);

const pages = [];
const lines = createInterface({ input: createReadStream(pagesFile).pipe(createGunzip()) });
for await (const line of lines) {
  const page = JSON.parse(line);
  if (page.text.length < 60_000) pages.push(page);
  if (pages.length >= changed) break;
}
lines.close();
const queries = queriesOf(JSON.parse(readFileSync(queriesFile, 'utf8')));

function queriesOf(value) {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(queriesOf);
  if (typeof value?.q === 'string') return [value.q];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(queriesOf) : [];
}

const run = (args) => fork(join(ROOT, 'dist/search-core/cli.js'), args, { stdio: 'ignore' });
const ended = (child) => new Promise((resolve) => child.on('exit', resolve));
const quantile = (times, share) =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length * share)];

/** Asks one query after the other until told to stop; the times in milliseconds. */
async function asking(url, until) {
  const times = [];
  for (let at = 0; !until(); at = (at + 7_919) % queries.length) {
    const words = (queries[at] ?? '').split(/\s+/u).slice(0, 40).join(' ');
    if (words === '') continue;
    const begun = performance.now();
    const reply = await fetch(`${url}/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: words }),
    });
    await reply.arrayBuffer();
    if (reply.ok) times.push(performance.now() - begun);
    await sleep(5);
  }
  return times;
}

async function finds(url, word) {
  const reply = await fetch(`${url}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: word, maxResults: 1 }),
  });
  return (await reply.json()).result?.results.length > 0;
}

const escape = (text) => text.replace(/&/gu, '&amp;').replace(/</gu, '&lt;');
const marker = (at) => `zqxmark${at}`;
const html = ({ title, text }, at) =>
  `<!doctype html><title>${escape(title)}</title><main><h1>${escape(title)}</h1>${text
    .split(/\n\n+/u)
    .map((part) => `<p>${escape(part)}</p>`)
    .join('')}<p>The mark is ${marker(at)} here.</p></main>`;

/** Sites of this machine that hold the changed pages; returns their origins. */
async function startSites(count) {
  const origins = [];
  for (let site = 0; site < count; site += 1) {
    const mine = pages.map((page, at) => ({ page, at })).filter(({ at }) => at % count === site);
    const server = createServer((request, response) => {
      const { page, at } = mine[Number(/^\/p\/(\d+)$/u.exec(request.url)?.[1])] ?? {};
      const origin = `http://127.0.0.1:${server.address().port}`;
      if (request.url === '/sitemap.xml') {
        response.end(
          `<urlset>${mine.map((_, n) => `<url><loc>${origin}/p/${n}</loc></url>`).join('')}</urlset>`,
        );
      } else if (page) {
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html(page, at));
      } else response.writeHead(404).end();
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    server.unref();
    origins.push(`http://127.0.0.1:${server.address().port}`);
  }
  return origins;
}

const children = [];
try {
  await ended(run(['jsonl', pagesFile, '--index', index]));
  const core = fork(join(ROOT, 'dist/search-core/main.js'), [], {
    env: {
      ...process.env,
      SEARCH_CORE_LISTEN: '127.0.0.1:0',
      SEARCH_CORE_INDEX: index,
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  children.push(core);
  const { url } = await new Promise((resolve) => core.once('message', resolve));
  const sources = join(directory, 'sources.json');
  mkdirSync(join(directory, 'drop'));
  const origins = how === 'sites' ? await startSites(8) : [];
  const list =
    how === 'sites'
      ? origins.map((origin) => ({ kind: 'sitemap', url: `${origin}/sitemap.xml` }))
      : [{ kind: 'jsonl', folder: 'drop' }];
  const write = (some) =>
    writeFileSync(
      sources,
      JSON.stringify({ sources: some, allowPrivate: true, everyHost: { delaySeconds: 0 } }),
    );
  write([]);
  const watch = run(['watch', '--index', index, '--sources', sources]);
  children.push(watch);
  await sleep(3_000);
  let stop = performance.now() + 3_000;
  await asking(url, () => performance.now() > stop);
  stop = performance.now() + 25_000;
  const quiet = await asking(url, () => performance.now() > stop);
  const begun = performance.now();
  if (how !== 'sites') {
    const changedPages = pages.map((page, at) => ({
      ...page,
      text: `${page.text}\n\n${marker(at)}`,
    }));
    const text = changedPages.map((page) => JSON.stringify(page)).join('\n');
    writeFileSync(join(directory, 'drop', '.part'), text);
    renameSync(join(directory, 'drop', '.part'), join(directory, 'drop', 'changed.jsonl'));
  }
  write(list);
  let isOver = false;
  const busy = asking(url, () => isOver);
  const last = how === 'sites' ? pages.length - 1 - (pages.length % 8) : pages.length - 1;
  const limit = performance.now() + 150_000;
  while (!(await finds(url, marker(last))) && performance.now() < limit) await sleep(250);
  const seconds = (performance.now() - begun) / 1_000;
  isOver = true;
  const during = await busy;
  print('changed pages', pages.length);
  print('all searchable after, s', seconds.toFixed(1));
  for (const [name, share] of [
    ['p50', 0.5],
    ['p95', 0.95],
    ['p99', 0.99],
  ]) {
    const [before, now] = [quantile(quiet, share), quantile(during, share)];
    print(
      `queries ${name}, ms: quiet, meanwhile, ratio`,
      `${before.toFixed(1)} ${now.toFixed(1)} ${(now / before).toFixed(2)}`,
    );
  }
  print('queries asked: quiet, meanwhile', `${quiet.length} ${during.length}`);
} finally {
  for (const child of children) {
    child.kill('SIGTERM');
    await ended(child);
  }
  rmSync(directory, { recursive: true });
}
