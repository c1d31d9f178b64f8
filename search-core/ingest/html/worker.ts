/** A thread that extracts pages, so that one hostile page can be stopped. */
import { parentPort } from 'node:worker_threads';
import { extractPage, type ExtractedPage } from './extract.js';

/** A page as HTML, or a PDF. */
export type ExtractJob =
  | { readonly html: string; readonly url: string; readonly pdf?: never }
  | { readonly pdf: Uint8Array; readonly url: string };

/** Undefined where the parsers failed. */
export interface ExtractAnswer {
  readonly page: ExtractedPage | undefined;
}

// Defuddle reports what it could not parse on the console; the answer says it already.
Object.assign(console, { log: silent, warn: silent, error: silent });

function silent(): void {
  // nothing to say
}

parentPort?.on('message', (job: ExtractJob) => {
  void read(job).then((page) => parentPort?.postMessage({ page } satisfies ExtractAnswer));
});

async function read(job: ExtractJob): Promise<ExtractedPage | undefined> {
  try {
    if (job.pdf === undefined) return extractPage(job.html, job.url);
    // Most sites have none: the library is loaded with the first one.
    const { extractPdf } = await import('./pdf.js');
    return await extractPdf(job.pdf);
  } catch {
    return undefined;
  }
}
