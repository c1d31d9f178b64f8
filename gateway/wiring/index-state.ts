import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { IndexState } from '../edge/front/facts.js';
import type { Clock } from '../ground/domain/ports.js';
import type { SearchNode } from '../ground/processes/search-nodes.js';

const FRESH_MS = 30_000;

/**
 * How many pages search-core has, as the node says that is furthest ahead, and when that last changed
 * where its index lies in a folder of this machine. The folder is asked at most twice a minute,
 * whoever looks; undefined while no node has said anything.
 */
export function indexState(
  clock: Pick<Clock, 'monotonicMs'>,
  { nodes, indexDir }: { readonly nodes: readonly SearchNode[]; readonly indexDir?: string },
): () => Promise<IndexState | undefined> {
  let changed: Promise<Date | undefined> | undefined;
  let askedMs = -Infinity;
  return async () => {
    const pages = pagesOf(nodes);
    if (pages === undefined) return undefined;
    if (indexDir === undefined) return { pages };
    const nowMs = clock.monotonicMs();
    if (!changed || nowMs - askedMs > FRESH_MS) {
      askedMs = nowMs;
      changed = changedAt(indexDir);
    }
    const known = await changed;
    return { pages, ...(known && { changedAt: known }) };
  };
}

function pagesOf(nodes: readonly SearchNode[]): number | undefined {
  const serving = nodes.map((node) => node.state()).filter(({ ready }) => ready);
  const [ahead] = serving
    .map(({ index }) => index)
    .sort((a, b) => (b.generation ?? 0) - (a.generation ?? 0));
  return ahead?.pages;
}

async function changedAt(indexDir: string): Promise<Date | undefined> {
  const manifest = await stat(join(indexDir, 'index.json')).catch(() => undefined);
  return manifest?.mtime;
}
