/**
 * A thread of its own that judges answers: loading the validator and compiling its schemas takes
 * longer than a server of a test may stand still.
 */
import { parentPort } from 'node:worker_threads';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { judge, type Exchange } from './interface-document.js';

/** What is said of answers: how many of each kind there were, and what is wrong. */
export interface Verdict {
  readonly seen: readonly string[];
  readonly problems: readonly string[];
}

/** The body as its caller reads it, whatever coding it was sent in. */
function decoded({ headers, body }: Exchange): Buffer {
  const coding = headers['content-encoding'];
  if (coding === 'br') return brotliDecompressSync(body);
  return coding === 'gzip' ? gunzipSync(body) : Buffer.from(body);
}

/** The answers that came during one test. */
interface Batch {
  readonly exchanges: readonly Exchange[];
  readonly test: string;
}

parentPort?.on('message', ({ exchanges, test }: Batch) => {
  const judged = exchanges.flatMap((cloned) => {
    const exchange = { ...cloned, body: decoded(cloned) };
    const judgement = judge(exchange);
    return judgement ? [{ ...exchange, ...judgement }] : [];
  });
  const problems = judged.flatMap(({ method, path, status, body, faults }) =>
    faults.map(
      (fault) =>
        `${method} ${path} ${status}: ${fault} (in "${test}")\n  ${body.toString().slice(0, 300)}`,
    ),
  );
  const verdict: Verdict = { seen: judged.map(({ operation }) => operation), problems };
  parentPort?.postMessage(verdict);
});
