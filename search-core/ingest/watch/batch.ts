import type { Page } from '../page.js';

/** Pages on their way to the index: what to put, what to delete. The last word on a page counts. */
export class Batch {
  private puts = new Map<string, Page>();
  private readonly gone = new Set<string>();
  /** UTF-16 code units of the pages' texts. */
  length = 0;

  put(page: Page): void {
    this.drop(page.url);
    this.gone.delete(page.url);
    this.puts.set(page.url, page);
    this.length += page.text.length;
  }

  delete(url: string): void {
    this.drop(url);
    this.gone.add(url);
  }

  /** Whether it puts a page. */
  has(url: string): boolean {
    return this.puts.has(url);
  }

  get size(): number {
    return this.puts.size + this.gone.size;
  }

  /** Deletions, and the pages as a stream. */
  changes(): { readonly pages: AsyncIterable<Page>; readonly gone: ReadonlySet<string> } {
    const pages = [...this.puts.values()];
    return { pages: inTurn(pages), gone: this.gone };
  }

  private drop(url: string): void {
    this.length -= this.puts.get(url)?.text.length ?? 0;
    this.puts.delete(url);
  }
}

// eslint-disable-next-line @typescript-eslint/require-await -- a stream of what is there already
async function* inTurn(pages: readonly Page[]): AsyncIterable<Page> {
  yield* pages;
}
