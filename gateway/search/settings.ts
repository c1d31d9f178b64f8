import { z } from 'zod';
import { integer, switched } from '../ground/setting-kinds.js';

/** Settings of the search itself. */
export const SEARCH_SETTINGS = {
  /** Where search-core answers: `http://host:port` or `unix:/path`; without it one is started. */
  SEARCH_CORE_URL: z
    .string()
    .regex(/^(https?:\/\/|unix:\/)/, 'must be http:// or unix:/')
    .optional(),
  /** Whether a search that finds nothing costs what any search costs; channels always charge. */
  CHARGE_EMPTY_SEARCHES: switched('on'),
  /** Whether queries and replies may be read in the database after a search. */
  RETENTION: switched('on'),
  /** Milliseconds for one search. */
  UPSTREAM_TIMEOUT_MS: integer(50, 60_000, 5000),
} as const;
