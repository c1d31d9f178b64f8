import { z } from 'zod';
import { integer } from '../ground/setting-kinds.js';

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
  /** Milliseconds for one search. */
  UPSTREAM_TIMEOUT_MS: integer(50, 60_000, 5000),
} as const;
