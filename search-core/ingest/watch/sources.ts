/** The file that names what the index is kept from: `data/sources.json`. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { parsePattern } from '../blocked/pattern.js';
import { IngestError } from '../load.js';
import { canonicalUrl } from '../url.js';
import { queryOf } from './captures-query.js';

const webAddress = z.string().transform((text, context) => {
  const url = canonicalUrl(text);
  if (url !== undefined) return url;
  context.addIssue({ code: 'custom', message: 'is not a web address' });
  return z.NEVER;
});

const pattern = z
  .string()
  .refine((text) => parsePattern(text) !== undefined, { message: 'is not a host or a pattern' });

const isAnswerable = (text: string): boolean => queryOf(text) !== undefined;
const NO_HOST = { message: 'names no host or beginning of an address to look up' };

/** What every source of pages on the web may limit. */
const limits = {
  /** Addresses of this source at the most. */
  pagesMax: z.int().min(1).max(5_000_000).default(100_000),
  /** Hosts beside those that the source names, which its links may lead to. */
  furtherHosts: z.int().min(0).max(100_000).default(0),
};

const source = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('site'),
    url: webAddress,
    /** Links to follow from the address. */
    depth: z.int().min(0).max(1_000).default(10),
    ...limits,
  }),
  z.strictObject({ kind: z.literal('sitemap'), url: webAddress, ...limits }),
  z.strictObject({ kind: z.literal('feed'), url: webAddress, ...limits }),
  z.strictObject({ kind: z.literal('warc'), folder: z.string().min(1) }),
  z.strictObject({ kind: z.literal('jsonl'), folder: z.string().min(1) }),
  z.strictObject({
    kind: z.literal('common-crawl'),
    /** Hosts or patterns whose pages are wanted. */
    patterns: z.array(pattern.refine(isAnswerable, NO_HOST)).min(1).max(1_000),
    /** `CC-MAIN-2026-43`; without it the newest crawl. */
    crawl: z
      .string()
      .regex(/^[\w-]{1,60}$/u)
      .optional(),
    pagesMax: limits.pagesMax,
  }),
]);

const host = z.strictObject({
  /** Pause between two requests; robots.txt may ask for more. */
  delaySeconds: z.number().min(0).max(86_400).optional(),
  fetchesPerDayMax: z.int().min(0).optional(),
});

const HOUR_SECONDS = 3_600;
const interval = z
  .strictObject({
    min: z.number().min(0).max(10_000).default(1),
    max: z.number().min(0).max(10_000).default(720),
  })
  .refine(({ min, max }) => min <= max, { message: 'min is above max' });

const file = z.strictObject({
  sources: z.array(source).max(100_000),
  /** Pauses and budgets of single hosts, with their ports where these are not the usual ones. */
  hosts: z.record(z.string(), host).default({}),
  /** For all hosts without an entry of their own. */
  everyHost: host.default({}),
  /** Bounds of the time between two looks at a page, hours. */
  everyHours: interval.prefault({}),
  /** Whether hosts in private networks and on this machine may be asked. */
  allowPrivate: z.boolean().default(false),
  /** Where Common Crawl's index and its archives are. */
  commonCrawl: z
    .strictObject({
      index: webAddress.default('https://index.commoncrawl.org/'),
      data: webAddress.default('https://data.commoncrawl.org/'),
    })
    .prefault({}),
});

type Parsed = z.infer<typeof file>;
/** A source and its name, which is the same in the next file if it is the same source. */
export type Source = Parsed['sources'][number] & { readonly name: string };
export type SourceOf<Kind extends Source['kind']> = Extract<Source, { kind: Kind }>;

export interface Sources {
  readonly sources: readonly Source[];
  readonly schedule: { readonly intervalSecondsMin: number; readonly intervalSecondsMax: number };
  readonly commonCrawl: Parsed['commonCrawl'];
  readonly isPrivateAllowed: boolean;
  /** What a host may be asked for. */
  readonly politenessOf: (host: string) => Politeness;
}

export interface Politeness {
  readonly delayMs: number;
  readonly fetchesPerDayMax: number;
}

const DELAY_SECONDS = 1;
const FETCHES_PER_DAY_MAX = 50_000;

/** Reads the file. @throws IngestError that says what is wrong with it */
export function readSources(path: string): Sources {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new IngestError(`${path} cannot be read: ${String(error)}`);
  }
  return parseSources(text, path);
}

/** Reads a file's text; folders are relative to the file. @throws IngestError */
export function parseSources(text: string, path: string): Sources {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new IngestError(`${path} is not JSON: ${String(error)}`);
  }
  const { data, error } = file.safeParse(json);
  if (!data) {
    const lines = error.issues.map(({ path: at, message }) => `  ${at.join('.')}: ${message}`);
    throw new IngestError([`${path} is not understood:`, ...lines.slice(0, 10)].join('\n'));
  }
  const named = data.sources.map((one) => {
    const placed = 'folder' in one ? { ...one, folder: resolve(dirname(path), one.folder) } : one;
    return { ...placed, name: nameOf(placed) };
  });
  const twice = named.find(({ name }, at) => named.findIndex((one) => one.name === name) < at);
  if (twice) throw new IngestError(`${path} names ${twice.name} twice`);
  const { hosts, everyHost, everyHours, commonCrawl } = data;
  return {
    sources: named,
    schedule: {
      intervalSecondsMin: everyHours.min * HOUR_SECONDS,
      intervalSecondsMax: everyHours.max * HOUR_SECONDS,
    },
    commonCrawl,
    isPrivateAllowed: data.allowPrivate,
    politenessOf: (name) => {
      const own = Object.hasOwn(hosts, name) ? hosts[name] : undefined;
      return {
        delayMs: (own?.delaySeconds ?? everyHost.delaySeconds ?? DELAY_SECONDS) * 1_000,
        fetchesPerDayMax:
          own?.fetchesPerDayMax ?? everyHost.fetchesPerDayMax ?? FETCHES_PER_DAY_MAX,
      };
    },
  };
}

function nameOf(one: Parsed['sources'][number]): string {
  switch (one.kind) {
    case 'site':
    case 'sitemap':
    case 'feed':
      return `${one.kind} ${one.url}`;
    case 'warc':
    case 'jsonl':
      return `${one.kind} ${one.folder}`;
    case 'common-crawl':
      return `common-crawl ${one.crawl ?? 'newest'} ${one.patterns.join(' ')}`;
  }
}
