import { stat } from 'node:fs/promises';
import { request, type RequestOptions } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { IndexState } from '../edge/front/facts.js';
import type { Clock } from '../ground/domain/ports.js';

/** What search-core says of itself at `/readyz`. */
const statsSchema = z.object({ pages: z.int().min(0) });

const FRESH_MS = 30_000;
const TIMEOUT_MS = 2000;
const BYTES_MAX = 10_000;

/**
 * How many pages search-core has, and when that last changed where its index lies in a folder of
 * this machine. Asked at most twice a minute while it answers, whoever looks; undefined while it does not answer.
 *
 * @param url `http://host:port` or `unix:/path`.
 */
export function indexState(
  clock: Clock,
  { url, indexDir }: { readonly url: string; readonly indexDir?: string },
): () => Promise<IndexState | undefined> {
  let known: Promise<IndexState | undefined> | undefined;
  let askedMs = -Infinity;
  return () => {
    const nowMs = clock.monotonicMs();
    if (!known || nowMs - askedMs > FRESH_MS) {
      askedMs = nowMs;
      known = read(url, indexDir).catch(() => {
        askedMs = -Infinity;
        return undefined;
      });
    }
    return known;
  };
}

async function read(url: string, indexDir: string | undefined): Promise<IndexState> {
  const { pages } = statsSchema.parse(JSON.parse(await readiness(url)));
  if (indexDir === undefined) return { pages };
  const manifest = await stat(join(indexDir, 'index.json'));
  return { pages, changedAt: manifest.mtime };
}

function readiness(url: string): Promise<string> {
  const target = targetOf(url);
  return new Promise((resolve, reject) => {
    const asked = request({ ...target, path: '/readyz', timeout: TIMEOUT_MS }, (response) => {
      const isLong = Number(response.headers['content-length'] ?? 0) > BYTES_MAX;
      if (isLong) response.destroy(new Error('search-core says too much'));
      text(response).then(resolve, reject);
    });
    asked.on('timeout', () => asked.destroy(new Error('search-core does not answer')));
    asked.on('error', reject).end();
  });
}

function targetOf(url: string): RequestOptions {
  if (url.startsWith('unix:')) return { socketPath: url.slice('unix:'.length) };
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port };
}
