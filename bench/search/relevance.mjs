// npm run bench:relevance -- --collection DIR: nDCG@10, MRR@10 and recall@100 over a test collection
// (docs.jsonl, queries.tsv, qrels.tsv), for BM25F alone and with ordered nearness.
// Or: -- --pages FILE.jsonl[.gz] --queries FILE.json [--half even|odd]: MRR@10 of each query's target,
// by class; of the queries at even or odd positions only: choose constants on one half, report the other.
// --index DIR keeps the index there and uses it again.
// With --engines search-core,opensearch both at once, by their first 20 results, and how often they agree;
// BENCH_OPENSEARCH names the server.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt, ensureInstalled } from '../../scripts/steps.mjs';
import { pagesOf, queriesOf } from './corpus.mjs';

const { values } = parseArgs({
  options: {
    collection: { type: 'string' },
    pages: { type: 'string' },
    queries: { type: 'string' },
    half: { type: 'string' },
    index: { type: 'string' },
    engines: { type: 'string' },
  },
});
await ensureInstalled();
await ensureBuilt();
const search = await import('./rankings.mjs');

/** Tab-separated lines. */
const rows = (file) =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));

const mean = (list) => list.reduce((sum, x) => sum + x, 0) / Math.max(1, list.length);
const discounted = (grades) => grades.reduce((sum, g, i) => sum + g / Math.log2(i + 2), 0);

function scores(ids, grades) {
  const ideal = [...grades.values()].filter((g) => g > 0).sort((a, b) => b - a);
  const relevant = (id) => (grades.get(id) ?? 0) > 0;
  const first = ids.slice(0, 10).findIndex(relevant);
  return {
    ndcg:
      discounted(ids.slice(0, 10).map((id) => Math.max(0, grades.get(id) ?? 0))) /
      discounted(ideal.slice(0, 10)),
    mrr: first < 0 ? 0 : 1 / (first + 1),
    recall: ids.slice(0, 100).filter(relevant).length / ideal.length,
  };
}

async function collection(directory, path) {
  const ids = new Map();
  for await (const { id, url } of pagesOf(join(path, 'docs.jsonl'))) ids.set(url, id);
  const judged = new Map();
  for (const [query, id, grade] of rows(join(path, 'qrels.tsv'))) {
    if (!judged.has(query)) judged.set(query, new Map());
    judged.get(query).set(id, Number(grade));
  }
  const rank = await search.open(directory, () => pagesOf(join(path, 'docs.jsonl')));
  const found = { BM25F: [], 'with nearness': [] };
  for (const [query, text] of rows(join(path, 'queries.tsv'))) {
    const grades = judged.get(query);
    if (!grades || ![...grades.values()].some((g) => g > 0)) continue;
    const { plain, near } = rank(text, 200);
    found['BM25F'].push(
      scores(
        plain.map((url) => ids.get(url)),
        grades,
      ),
    );
    found['with nearness'].push(
      scores(
        near.map((url) => ids.get(url)),
        grades,
      ),
    );
  }
  for (const [name, list] of Object.entries(found)) {
    const of = (key) => mean(list.map((one) => one[key])).toFixed(3);
    console.log(`${name}: nDCG@10 ${of('ndcg')}, MRR@10 ${of('mrr')}, recall@100 ${of('recall')}`);
  }
}

/** Both engines: how good each is, and how often they agree. */
async function compared(directory) {
  const { agreement, rankAll } = await import('./compare.mjs');
  const engines = values.engines.split(',');
  const classes = values.collection ? await judgedQueries(values.collection) : aimedQueries();
  const all = Object.values(classes).flat();
  const file = values.collection ? join(values.collection, 'docs.jsonl') : values.pages;
  const texts = all.map(({ q }) => q);
  const ranked = await rankAll(engines, directory, () => pagesOf(file), texts);
  let from = 0;
  for (const [name, list] of Object.entries(classes)) {
    const of = (engine) => ranked[engine].slice(from, from + list.length);
    for (const engine of engines) {
      const found = of(engine).map((urls, at) => scores(urls, list[at].grades));
      const by = (key) => mean(found.map((one) => one[key])).toFixed(3);
      const quality = list[0].grades.size > 0 ? `nDCG@10 ${by('ndcg')}, MRR@10 ${by('mrr')}` : '';
      const agrees = engine === engines[0] ? undefined : agreement(of(engines[0]), of(engine));
      const same = agrees ? `; same first ${agrees.first} %, of ten ${agrees.ten} %` : '';
      console.log(`${name}, ${engine}: ${quality}${same}`);
    }
    from += list.length;
  }
}

/** The judged queries of a collection, with grades by URL. */
async function judgedQueries(path) {
  const urls = new Map();
  for await (const { id, url } of pagesOf(join(path, 'docs.jsonl'))) urls.set(id, url);
  const judged = new Map();
  for (const [query, id, grade] of rows(join(path, 'qrels.tsv'))) {
    if (!judged.has(query)) judged.set(query, new Map());
    judged.get(query).set(urls.get(id), Number(grade));
  }
  const list = rows(join(path, 'queries.tsv'))
    .map(([query, q]) => ({ q, grades: judged.get(query) ?? new Map() }))
    .filter(({ grades }) => [...grades.values()].some((grade) => grade > 0));
  return { judged: list };
}

/** Queries by class, each with the page that it was drawn from, if there is one. */
function aimedQueries() {
  const isAsked = (_, at) =>
    values.half === undefined || (at % 2 === 0) === (values.half === 'even');
  const entries = Object.entries(queriesOf(values.queries)).map(([name, list]) => [
    name,
    list
      .filter(isAsked)
      .map(({ q, target }) => ({ q, grades: new Map(target ? [[target, 1]] : []) })),
  ]);
  return Object.fromEntries(entries);
}

async function targets(directory, pages, queries) {
  const rank = await search.open(directory, () => pagesOf(pages));
  for (const [name, list] of Object.entries(queriesOf(queries))) {
    const isAsked = (at) =>
      values.half === undefined || (at % 2 === 0) === (values.half === 'even');
    const aimed = list.filter(({ target }, at) => target && isAsked(at));
    if (aimed.length === 0) continue;
    const mrr = (pick, text = (q) => q) =>
      mean(
        aimed.map(({ q, target }) => {
          const at = pick(rank(text(q), 10)).indexOf(target);
          return at < 0 ? 0 : 1 / (at + 1);
        }),
      ).toFixed(3);
    const bare = (q) => q.replaceAll('"', ' ');
    console.log(
      `${name}: MRR@10 ${mrr(({ near }) => near)}; without quotes ` +
        `${mrr(({ near }) => near, bare)}, BM25F alone ${mrr(({ plain }) => plain, bare)}`,
    );
  }
}

const directory = values.index ?? mkdtempSync(join(tmpdir(), 'search402-relevance-'));
try {
  if (values.engines) await compared(directory);
  else if (values.collection) await collection(directory, values.collection);
  else if (values.pages && values.queries) await targets(directory, values.pages, values.queries);
  else console.error('usage: npm run bench:relevance -- --collection DIR');
} finally {
  if (!values.index) rmSync(directory, { recursive: true });
}
