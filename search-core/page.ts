/** One page as the index takes it: plain text, no markup. */
export interface Page {
  /** The page's canonical URL: its identity. A second page with the same URL replaces the first. */
  readonly url: string;
  /** Plain text, one line. */
  readonly title: string;
  /** Plain text: paragraphs separated by a blank line, lines by `\n`. */
  readonly text: string;
  /** The source's own name for the page; the engine ignores it. */
  readonly id?: string;
  /** When the page changed last, ISO 8601; the engine ignores it. */
  readonly modified?: string;
}
