/**
 * Runs around every test (`jest.config.js`): an answer of the service that the document does not
 * describe fails the test that got it. What was seen is counted for `interface-total.ts`.
 */
import { appendFileSync } from 'node:fs';
import { afterAll, afterEach } from '@jest/globals';
import { takeExchanges, watchAnswers } from './interface-watch.js';

const FAULTS_SHOWN = 5;
const stop = watchAnswers();
const seen = new Map<string, number>();

async function check(): Promise<void> {
  const exchanges = takeExchanges();
  if (exchanges.length === 0) return;
  // Most files ask the service nothing: they need not pay for the validator.
  const { judge } = await import('./interface-document.js');
  const problems: string[] = [];
  for (const exchange of exchanges) {
    const judgement = judge(exchange);
    if (!judgement) continue;
    seen.set(judgement.operation, (seen.get(judgement.operation) ?? 0) + 1);
    const { method, path, status, body } = exchange;
    for (const fault of judgement.faults) {
      problems.push(`${method} ${path} ${status}: ${fault}\n  ${body.toString().slice(0, 300)}`);
    }
  }
  if (problems.length === 0) return;
  const shown = problems.slice(0, FAULTS_SHOWN).join('\n');
  throw new Error(`${problems.length} times not as docs/openapi.json says:\n${shown}`);
}

afterEach(check);
afterAll(async () => {
  stop();
  await check();
  const file = process.env.INTERFACE_SEEN_FILE;
  if (file !== undefined && seen.size > 0) {
    appendFileSync(file, `${JSON.stringify(Object.fromEntries(seen))}\n`);
  }
});
