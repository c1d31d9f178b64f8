import { z } from 'zod';
import { integer } from '../ground/setting-kinds.js';

/** Settings of the search itself. */
export const SEARCH_SETTINGS = {
  /** Where search-core answers: `http://host:port` or `unix:/path`; without it one is started. */
  SEARCH_CORE_URL: z
    .string()
    .regex(/^(https?:\/\/|unix:\/)/, 'must be http:// or unix:/')
    .optional(),
  /** Milliseconds for one search. */
  UPSTREAM_TIMEOUT_MS: integer(50, 60_000, 5000),
} as const;
