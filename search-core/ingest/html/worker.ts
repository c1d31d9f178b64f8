/** A thread that extracts pages, so that one hostile page can be stopped. */
import { parentPort } from 'node:worker_threads';
import { extractPage, type ExtractedPage } from './extract.js';

export interface ExtractJob {
  readonly html: string;
  readonly url: string;
}

/** Undefined where the parsers failed. */
export interface ExtractAnswer {
  readonly page: ExtractedPage | undefined;
}

// Defuddle reports what it could not parse on the console; the answer says it already.
Object.assign(console, { log: silent, warn: silent, error: silent });

function silent(): void {
  // nothing to say
}

parentPort?.on('message', ({ html, url }: ExtractJob) => {
  let page: ExtractedPage | undefined;
  try {
    page = extractPage(html, url);
  } catch {
    page = undefined;
  }
  parentPort?.postMessage({ page } satisfies ExtractAnswer);
});
