/**
 * A thread that asks again and again while others pay, and says how long each answer took. It is
 * apart from the payers, so that their work does not count as the gateway's.
 */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Probe, ProbeData } from './burst.js';

const { url, apiKey, everyMs } = workerData as ProbeData;
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const port = parentPort;
if (!port) throw new Error('this is a thread');

/** Sends one search; resolves with its status and the milliseconds until its last byte. */
function ask(headers: Record<string, string>): Promise<{ status: number; ms: number }> {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now();
    const asking = request(
      `${url}/search`,
      { agent, method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
      (response) => {
        response.resume();
        response.once('end', () => {
          resolve({ status: response.statusCode ?? 0, ms: performance.now() - startedMs });
        });
      },
    );
    asking.once('error', reject);
    asking.end('{"query":"lighthouse"}');
  });
}

/** Asks at fixed moments, whether or not the answers have come. */
async function probe(kind: Probe['kind'], headers: Record<string, string>): Promise<void> {
  for (;;) {
    ask(headers).then(
      (answer) => port?.postMessage({ kind, ...answer } satisfies Probe),
      () => port?.postMessage({ kind, status: 0, ms: Infinity } satisfies Probe),
    );
    await sleep(everyMs);
  }
}

void probe('unpaid', {});
void probe('keyed', { authorization: `Bearer ${apiKey}` });
