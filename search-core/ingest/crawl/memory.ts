/** What one crawl leaves to the next: the pages it saw, and where it stopped. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { FrontierState } from './frontier.js';
import type { Visit } from './visit.js';

export interface CrawlMemory {
  readonly visits: readonly Visit[];
  /** Where the last run stopped at its limit; undefined after a run that saw the whole site. */
  readonly rest: FrontierState | undefined;
}

const FORMAT = 2;
const NOTHING: CrawlMemory = { visits: [], rest: undefined };

const entrySchema = z.object({
  url: z.string(),
  kind: z.enum(['page', 'sitemap']),
  depth: z.number(),
  hops: z.number(),
  tries: z.number(),
});

const memorySchema = z.object({
  format: z.literal(FORMAT),
  visits: z.array(
    z.object({
      url: z.string(),
      page: z.string(),
      etag: z.string().optional(),
      modified: z.string().optional(),
      links: z.array(z.string()),
      outcome: z.enum(['indexed', 'duplicate', 'refused']),
    }),
  ),
  rest: z
    .object({
      waiting: z.array(entrySchema),
      known: z.array(z.string()),
      hosts: z.array(z.string()),
      fetches: z.number(),
    })
    .optional(),
});

/** Reads what the last run left. A file that cannot be read is as good as none: all is fetched. */
export async function readMemory(file: string): Promise<CrawlMemory> {
  let json: unknown;
  try {
    json = JSON.parse(await readFile(file, 'utf8'));
  } catch {
    return NOTHING;
  }
  const { data } = memorySchema.safeParse(json);
  return data ? { visits: data.visits.map(visitOf), rest: data.rest } : NOTHING;
}

/** Writes it in one rename, so that a kill leaves the old file or the new one. */
export async function writeMemory(file: string, memory: CrawlMemory): Promise<void> {
  await writeFile(`${file}.next`, JSON.stringify({ format: FORMAT, ...memory }));
  await rename(`${file}.next`, file);
}

function visitOf({
  etag,
  modified,
  ...visit
}: z.infer<typeof memorySchema>['visits'][number]): Visit {
  return {
    ...visit,
    ...(etag !== undefined && { etag }),
    ...(modified !== undefined && { modified }),
  };
}

/** The visit without what a conditional request needs: the page will be fetched whole. */
export function withoutValidators({ etag: _, modified: __, ...visit }: Visit): Visit {
  return visit;
}
