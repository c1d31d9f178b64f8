// npm run bench:relevance -- --collection DIR: nDCG@10, MRR@10 and recall@100 over a test collection
// (docs.jsonl, queries.tsv, qrels.tsv), for BM25F alone and with ordered nearness.
// Or: -- --pages FILE.jsonl[.gz] --queries FILE.json [--half even|odd]: MRR@10 of each query's target,
// by class; of the queries at even or odd positions only: choose constants on one half, report the other.
// --index DIR keeps the index there and uses it again.
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
  if (values.collection) await collection(directory, values.collection);
  else if (values.pages && values.queries) await targets(directory, values.pages, values.queries);
  else console.error('usage: npm run bench:relevance -- --collection DIR');
} finally {
  if (!values.index) rmSync(directory, { recursive: true });
}
