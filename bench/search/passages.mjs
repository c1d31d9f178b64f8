// npm run bench:passages -- --pages FILE.jsonl[.gz] --queries FILE.json [--index DIR] [--half even|odd]:
// what descriptions look like, judged by a program.
// Or: -- --pages FILE.jsonl[.gz] --agent FILE.json [--index DIR] [--show DIR]: which questions of the file
// (q, and answer: an expression) the first results answer; DIR gets them for reading by eye.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt, ensureInstalled } from '../../scripts/steps.mjs';
import { drawAnswers } from './answers.mjs';
import { pagesOf, queriesOf } from './corpus.mjs';
import { judge, summary } from './passage-judge.mjs';

const { values } = parseArgs({
  options: {
    pages: { type: 'string' },
    queries: { type: 'string' },
    index: { type: 'string' },
    half: { type: 'string' },
    agent: { type: 'string' },
    show: { type: 'string' },
  },
});
const LIMITS = { deadlineMs: 1e9, postingsMax: 1e12 };
const LENGTHS = [1_000, 3_000, 8_000];
const QUESTIONS = 600;
const RESULTS = 10;

await ensureInstalled();
await ensureBuilt();
const { openSearcher } = await import('./rankings.mjs');
const { cleanText } = await import('../../dist/search-core/passage/clean.js');

const isAsked = (_, at) => values.half === undefined || (at % 2 === 0) === (values.half === 'even');

/** Every query's descriptions of one length, judged. */
function judged(searcher, pages, queries, maxDescriptionLength, maxResults) {
  return queries.flatMap(({ q, target, answer }) =>
    searcher
      .search({ query: q, maxResults, maxDescriptionLength }, LIMITS)
      .results.filter(({ url }) => answer === undefined || url === target)
      .map(({ url, description }) =>
        judge({ description, text: pages.get(url)?.text ?? '', query: q, answer }),
      ),
  );
}

function table(rows) {
  const keys = [...new Set(rows.flatMap(([, row]) => Object.keys(row)))];
  console.log(`| | ${rows.map(([name]) => name).join(' | ')} |`);
  for (const key of keys) {
    console.log(`| ${[key, ...rows.map(([, row]) => row[key] ?? '')].join(' | ')} |`);
  }
}

async function measure(searcher) {
  const pages = new Map();
  for await (const { url, title, text } of pagesOf(values.pages)) {
    pages.set(url, { title, text: cleanText(text) });
  }
  const drawn = ['sentences', 'sections'].map((kind) => [
    kind,
    drawAnswers(kind, pages, QUESTIONS).filter(isAsked),
  ]);
  const classes = Object.values(queriesOf(values.queries));
  const searches = classes.flatMap((list) => list.filter(isAsked).slice(0, 40));
  for (const length of LENGTHS) {
    console.log(
      `\n${length} characters: searches of all classes, and questions with known answers`,
    );
    table([
      ['searches', summary(judged(searcher, pages, searches, length, RESULTS))],
      ...drawn.map(([kind, list]) => [kind, summary(judged(searcher, pages, list, length, 20))]),
    ]);
  }
}

/** Writes each question's answer as it is served, for reading by eye, and counts the answered ones. */
function agent(searcher, questions) {
  const rows = questions.map(({ q, answer }) => {
    const { results } = searcher.search(
      { query: q, maxResults: 5, maxDescriptionLength: 1_000 },
      LIMITS,
    );
    const wanted = new RegExp(answer, 'iu');
    const at = results.findIndex(({ description }) => wanted.test(description));
    return { q, at: at < 0 ? undefined : at + 1, results };
  });
  if (values.show) {
    mkdirSync(values.show, { recursive: true });
    const text = rows.map(({ q, at, results }) =>
      [
        `# ${q} (answered by ${at ?? 'none'})`,
        ...results
          .slice(0, 3)
          .map(({ title, url, description }) => `## ${title}\n${url}\n\n${description}`),
      ].join('\n\n'),
    );
    writeFileSync(join(values.show, 'agent.md'), text.join('\n\n---\n\n'));
  }
  const among = (last) => rows.filter(({ at }) => at !== undefined && at <= last).length;
  console.log(
    `\nquestions answered by the first result: ${among(1)}, three: ${among(3)}, five: ${among(5)} of ${rows.length}`,
  );
  for (const { q, at, results } of rows)
    console.log(`| ${q} | ${at ?? '–'} | ${results[0]?.url ?? ''} |`);
}

const directory = values.index ?? mkdtempSync(join(tmpdir(), 'search402-passages-'));
try {
  const searcher = await openSearcher(directory, () => pagesOf(values.pages));
  if (values.agent) agent(searcher, JSON.parse(readFileSync(values.agent, 'utf8')));
  else await measure(searcher);
} finally {
  if (!values.index) rmSync(directory, { recursive: true });
}
