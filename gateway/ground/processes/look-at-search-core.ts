import { request as askHttp, type RequestOptions } from 'node:http';
import { request as askHttps } from 'node:https';
import { z } from 'zod';

/** What search-core says of its index: as much of it as it says. */
export interface IndexFacts {
  readonly pages?: number | undefined;
  /** Grows with every commit; nodes of one index that have the same one find the same. */
  readonly generation?: number | undefined;
  /** Bytes of the index's files, where it is in files. */
  readonly bytes?: number | undefined;
  /** When that commit was made, in milliseconds since 1970. */
  readonly committedAt?: number | undefined;
  /** How many shards and copies there are, where its index is spread over a cluster. */
  readonly details?: string | undefined;
  /** Why it serves an older commit than the last. */
  readonly problem?: string | undefined;
}

const factsSchema = z.object({
  pages: z.int().min(0).optional(),
  generation: z.int().min(0).optional(),
  bytes: z.int().min(0).optional(),
  committedAt: z.int().min(0).optional(),
  details: z.string().max(1000).optional(),
  problem: z.string().max(1000).optional(),
});

const BYTES_MAX = 10_000;

/**
 * Asks search-core at `http(s)://host:port` or `unix:/path` whether it can search.
 * @returns what it says of its index; rejects with why it cannot search
 */
export function lookAtSearchCore(url: string, signal: AbortSignal): Promise<IndexFacts> {
  const ask = url.startsWith('https:') ? askHttps : askHttp;
  return new Promise((resolve, reject) => {
    const asked = ask({ ...placeOf(url), path: readyPath(url), signal, agent: false }, (answer) => {
      const { statusCode = 0 } = answer;
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text = (text + part).slice(0, BYTES_MAX);
      });
      answer.once('error', reject);
      answer.once('end', () => {
        const facts = factsOf(text);
        if (statusCode === 200) resolve(facts);
        else reject(new Error(unready(statusCode, facts)));
      });
    });
    asked.once('error', (error) => {
      reject(new Error(`search-core does not answer (${error.message})`));
    });
    asked.end();
  });
}

function unready(status: number, { problem }: IndexFacts): string {
  const why = problem === undefined ? String(status) : `${status}: ${problem}`;
  return `search-core says that it is not ready (${why})`;
}

function factsOf(text: string): IndexFacts {
  try {
    return factsSchema.parse(JSON.parse(text));
  } catch {
    return {};
  }
}

function placeOf(url: string): RequestOptions {
  if (url.startsWith('unix:')) return { socketPath: url.slice('unix:'.length) };
  const { protocol, hostname, port } = new URL(url);
  const standard = protocol === 'https:' ? '443' : '80';
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port || standard };
}

const readyPath = (url: string) =>
  url.startsWith('unix:') ? '/readyz' : `${new URL(url).pathname.replace(/\/$/, '')}/readyz`;
