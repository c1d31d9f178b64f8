/** One page as every source hands it to the index. */
export interface Page {
  /** Absolute http or https address, serialised as a URI (ASCII). */
  readonly url: string;
  /** Plain text, one line; may be empty only where the source has none. */
  readonly title: string;
  /** Plain text: paragraphs and lines separated by line feeds, no markup. */
  readonly text: string;
  /** The source's own name for the page, when it has one. */
  readonly id?: string;
  /** When the page last changed, ISO 8601, as the source says. */
  readonly modified?: string;
}

/** Bounds on one page, in UTF-16 code units. What is longer is cut, never half a character. */
export const PAGE_LIMITS = { url: 2_048, title: 500, text: 1_000_000 } as const;
