import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { WatchFacts } from '../edge/console/parts.js';

const status = z.object({
  atMs: z.number(),
  addresses: z.number(),
  indexPages: z.number(),
  looks: z.number(),
  looksPerSecond: z.number(),
  lastCommitWaitedMs: z.number(),
  sources: z.array(
    z.object({
      name: z.string(),
      addresses: z.number(),
      indexed: z.number(),
      neverLookedAt: z.number(),
      overdue: z.number(),
      lastLook: z.number(),
    }),
  ),
  outcomes: z.array(
    z.object({
      outcome: z.string(),
      reason: z.string().nullable(),
      count: z.number(),
      example: z.string(),
    }),
  ),
  turnedAway: z.record(z.string(), z.number()),
  problems: z.array(z.string()),
});

/** What the watch of an index last wrote about itself; undefined where none ever ran. */
export async function watchFacts(indexDir: string): Promise<WatchFacts | undefined> {
  try {
    return status.parse(JSON.parse(await readFile(`${indexDir}.watch.json`, 'utf8')));
  } catch {
    return undefined;
  }
}
