import { z } from 'zod';
import { integer, switched } from '../ground/setting-kinds.js';

const coreUrl = z.string().regex(/^(https?:\/\/|unix:\/)/, 'must be http:// or unix:/');

/** Settings of the search itself. */
export const SEARCH_SETTINGS = {
  /** Where search-core answers: `http://host:port` or `unix:/path`; without it one is started. */
  SEARCH_CORE_URL: coreUrl.optional(),
  /** Several of them, comma-separated, of one index: searches are spread over those that are well. */
  SEARCH_CORE_URLS: z
    .string()
    .transform((text) => [...new Set(text.split(',').map((part) => part.trim()))])
    .pipe(z.array(coreUrl).min(1).max(64))
    .optional(),
  /** File that names what keeps the index fresh; with it a watch runs beside search-core. */
  WATCH_SOURCES: z.string().min(1).optional(),
  /** Whether a search that finds nothing costs what any search costs; channels always charge. */
  CHARGE_EMPTY_SEARCHES: switched('on'),
  /** Whether queries and replies may be read in the database after a search. */
  RETENTION: switched('on'),
  /** Milliseconds for one search. */
  UPSTREAM_TIMEOUT_MS: integer(50, 60_000, 5000),
} as const;
