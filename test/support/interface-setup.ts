/**
 * Runs around every test (`jest.config.js`): an answer of the service that the document does not
 * describe fails the test that got it. What was seen is counted for `interface-total.ts`.
 */
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach } from '@jest/globals';
import type { Exchange } from './interface-document.js';
import type { Verdict } from './interface-judge.js';
import { takeExchanges, watchAnswers } from './interface-watch.js';

const FAULTS_SHOWN = 5;
const stop = watchAnswers();
const counts = new Map<string, number>();
/** Most files ask the service nothing: they start no thread. */
let judge: Worker | undefined;

async function verdictOn(exchanges: readonly Exchange[]): Promise<Verdict> {
  judge ??= new Worker(fileURLToPath(new URL('interface-judge.js', import.meta.url)));
  judge.ref();
  judge.postMessage(exchanges);
  const [verdict] = (await once(judge, 'message')) as [Verdict];
  judge.unref();
  return verdict;
}

async function check(): Promise<void> {
  const exchanges = takeExchanges();
  if (exchanges.length === 0) return;
  const { seen, problems } = await verdictOn(exchanges);
  for (const operation of seen) counts.set(operation, (counts.get(operation) ?? 0) + 1);
  if (problems.length === 0) return;
  const shown = problems.slice(0, FAULTS_SHOWN).join('\n');
  throw new Error(`${problems.length} times not as docs/openapi.json says:\n${shown}`);
}

afterEach(check);
afterAll(async () => {
  stop();
  try {
    await check();
  } finally {
    await judge?.terminate();
  }
  const file = process.env.INTERFACE_SEEN_FILE;
  if (file !== undefined && counts.size > 0) {
    appendFileSync(file, `${JSON.stringify(Object.fromEntries(counts))}\n`);
  }
});
