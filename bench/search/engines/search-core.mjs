// This project's engine, on one thread.
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDirectory } from '../../../dist/search-core/disk/filesystem.js';
import { ThreadedEngine } from '../../../dist/search-core/engines/threaded.js';
import { buildIndex } from '../../../dist/search-core/index/build.js';
import { Snapshot } from '../../../dist/search-core/index/snapshot.js';
import { Budget } from '../../../dist/search-core/query/budget.js';
import { lookUp } from '../../../dist/search-core/query/found.js';
import { parseQuery } from '../../../dist/search-core/query/parse.js';
import { Searcher } from '../../../dist/search-core/query/searcher.js';

export const name = 'search-core';
const LIMITS = { deadlineMs: 60_000, postingsMax: 1e12 };
const now = () => performance.now();

export async function build(directory, pages) {
  await buildIndex(directory, pages);
}

export async function open(directory) {
  const snapshot = Snapshot.open(openDirectory(directory));
  const searcher = new Searcher(snapshot, now);
  const request = (query) => ({ query, maxResults: 20, maxDescriptionLength: 3000 });
  return {
    /** Top 10 by BM25F with the stored text: what the peers do too. */
    top10(q) {
      const query = parseQuery(q);
      const best = searcher.best(query, lookUp(snapshot, query), new Budget(now, LIMITS), 10);
      return best.map(({ page }) => {
        const leaf = snapshot.leafOf(page);
        return leaf.segment.page(page - leaf.base);
      });
    },
    /** The product's answer: nearness, top 20, passages of 3,000 characters. */
    full(q) {
      return searcher.search(request(q), LIMITS).results;
    },
    close: () => snapshot.close(),
  };
}

/** Full answers per second with this many threads. */
async function rate(directory, queries, threads, milliseconds) {
  const engine = await ThreadedEngine.open({
    indexDir: directory,
    threads,
    onError: console.error,
  });
  let next = 0;
  let answered = 0;
  const run = async (until) => {
    while (now() < until) {
      const query = queries[next++ % queries.length];
      await engine.search({ query, maxResults: 20, maxDescriptionLength: 3000 }, LIMITS);
      answered++;
    }
  };
  const lanes = (until) => Promise.all(Array.from({ length: 4 * threads }, () => run(until)));
  await lanes(now() + milliseconds / 2);
  answered = 0;
  const started = now();
  await lanes(started + milliseconds);
  const perSecond = (1000 * answered) / (now() - started);
  await engine.close();
  return perSecond;
}

/** Searches per second on one thread and on one per core, and how fast new pages are found. */
export async function service(directory, queries) {
  const rates = {};
  for (const threads of [1, availableParallelism()]) {
    rates[threads] = await rate(directory, queries, threads, 4_000);
  }
  return { rates, addedMs: await addWhileServing(directory, queries) };
}

const ROUNDS = 9;

/** Milliseconds until 1,000 new pages are found, while searches run: of several rounds, sorted. */
async function addWhileServing(directory, queries) {
  const engine = await ThreadedEngine.open({
    indexDir: directory,
    threads: 2,
    onError: console.error,
  });
  const text = 'Fresh page about quokkas and their habits. '.repeat(80);
  const changes = (round) =>
    Array.from({ length: 1_000 }, (_, n) => ({
      put: {
        url: `https://new.example/${round}/${n}`,
        title: `New ${n}`,
        text: `${text} round${round}`,
      },
    }));
  await engine.apply(changes(0));
  await engine.commit();
  let running = true;
  const searches = (async () => {
    for (let i = 0; running; i++) {
      const query = queries[i % queries.length];
      await engine.search({ query, maxResults: 20, maxDescriptionLength: 3000 }, LIMITS);
    }
  })();
  const times = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const fresh = changes(round);
    const started = now();
    await engine.apply(fresh);
    await engine.commit();
    const request = { query: `round${round} quokkas`, maxResults: 1, maxDescriptionLength: 1000 };
    const { results } = await engine.search(request, LIMITS);
    times.push(now() - started);
    if (!results[0]?.url.startsWith(`https://new.example/${round}/`)) throw new Error('not found');
    await sleep(200);
  }
  running = false;
  await searches;
  for (let round = 0; round <= ROUNDS; round++) {
    await engine.apply(changes(round).map(({ put }) => ({ delete: put.url })));
  }
  await engine.commit();
  await engine.close();
  return times.sort((a, b) => a - b);
}
