/**
 * Runs around every test (`jest.config.js`): an answer of the service that the document does not
 * describe fails the test that got it. What was seen is counted for `interface-total.ts`.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, expect } from '@jest/globals';
import type { Verdict } from './interface-judge.js';
import { takeExchanges, watchAnswers } from './interface-watch.js';

const FAULTS_SHOWN = 5;
/**
 * Milliseconds that a test waits for its verdict: in a longer pause servers close the connections
 * that the next test would use. What is not known by then fails a later test, and names this one.
 */
const WAIT_MS = 200;
const LAST_WAIT_MS = 30_000;
const counts = new Map<string, number>();
const verdicts: Verdict[] = [];
/** Batches without a verdict that was looked at. */
let asked = 0;
/** Started by the first answer, so that it is ready by the end of the test; most files have none. */
let judge: Worker | undefined;
const stop = watchAnswers(() => void startJudge());

function startJudge(): Worker {
  if (judge) return judge;
  judge = new Worker(fileURLToPath(new URL('interface-judge.js', import.meta.url)));
  judge.on('message', (verdict: Verdict) => verdicts.push(verdict));
  return judge;
}

/** Hands over what was answered, and throws for what is known to be wrong by now. */
async function check(waitMs: number): Promise<void> {
  const exchanges = takeExchanges();
  if (exchanges.length > 0) {
    asked += 1;
    startJudge().postMessage({ exchanges, test: expect.getState().currentTestName ?? 'no test' });
  }
  const deadline = performance.now() + waitMs;
  while (verdicts.length < asked && performance.now() < deadline) await sleep(2);
  asked -= verdicts.length;
  const known = verdicts.splice(0);
  for (const operation of known.flatMap(({ seen }) => seen)) {
    counts.set(operation, (counts.get(operation) ?? 0) + 1);
  }
  const problems = known.flatMap((verdict) => verdict.problems);
  if (problems.length === 0) return;
  const shown = problems.slice(0, FAULTS_SHOWN).join('\n');
  throw new Error(`${problems.length} times not as docs/openapi.json says:\n${shown}`);
}

afterEach(() => check(WAIT_MS));
afterAll(async () => {
  stop();
  try {
    await check(LAST_WAIT_MS);
    if (asked > 0) throw new Error('the answers could not be judged');
  } finally {
    await judge?.terminate();
  }
  const file = process.env.INTERFACE_SEEN_FILE;
  if (file !== undefined && counts.size > 0) {
    appendFileSync(file, `${JSON.stringify(Object.fromEntries(counts))}\n`);
  }
}, 2 * LAST_WAIT_MS);
