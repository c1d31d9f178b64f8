export type { Page } from '../page.js';

/** Bounds on one page, in UTF-16 code units. What is longer is cut, never half a character. */
export const PAGE_LIMITS = { url: 2_048, title: 500, text: 1_000_000 } as const;
