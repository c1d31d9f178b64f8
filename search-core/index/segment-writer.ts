import { CheckedWriter } from '../disk/checked.js';
import type { Directory } from '../disk/directory.js';
import { lengthCode, LENGTHS, norms, saturate } from '../rank/bm25f.js';
import { averages, type SegmentMeta } from './files.js';
import { hashUrl, writeKeys } from './keys.js';
import { TermEncoder } from './postings/encoder.js';
import { bodyOccurrences, titleOccurrences } from './postings/layout.js';
import { StoredWriter, type TextPart } from './stored.js';
import { TermsWriter } from './terms.js';

/**
 * Writes a segment: first its pages in order, then its terms in order, each with its postings.
 * Nothing refers to the files until a commit does; an abandoned segment is swept up later.
 */
export class SegmentWriter {
  readonly stored: StoredWriter;
  /** Two length codes per document: body, title. */
  private norms = new Uint8Array(1 << 12);
  private readonly hashes: number[] = [];
  private bodyWords = 0;
  private titleWords = 0;

  constructor(
    private readonly directory: Directory,
    readonly name: string,
  ) {
    this.stored = new StoredWriter(directory, name);
  }

  get documents(): number {
    return this.hashes.length;
  }

  /** Adds a page, its text in parts, and the length of its title in words. */
  addPage(url: string, title: string, parts: readonly TextPart[], titleLength: number): void {
    this.stored.add(url, title, parts);
    const bodyLength = parts.reduce((sum, { words }) => sum + words, 0);
    this.addDocument(hashUrl(url), lengthCode(bodyLength), lengthCode(titleLength));
  }

  /** Adds a document whose page was taken over with its block. */
  addDocument(urlHash: number, bodyCode: number, titleCode: number): void {
    const at = 2 * this.hashes.length;
    if (at + 2 > this.norms.length) {
      const grown = new Uint8Array(2 * this.norms.length);
      grown.set(this.norms);
      this.norms = grown;
    }
    this.norms[at] = bodyCode;
    this.norms[at + 1] = titleCode;
    this.hashes.push(urlHash);
    this.bodyWords += LENGTHS[bodyCode] ?? 0;
    this.titleWords += LENGTHS[titleCode] ?? 0;
  }

  /** Ends the pages; `writeTerms` is called once to give all terms, in order, to the sink. */
  finish(writeTerms: (sink: TermSink) => void): SegmentMeta {
    const { directory, name } = this;
    this.stored.finish();
    writeKeys(new CheckedWriter(directory, `${name}.keys`), this.hashes);
    const normsFile = new CheckedWriter(directory, `${name}.norms`);
    normsFile.append(this.norms.subarray(0, 2 * this.documents));
    normsFile.finish();
    const sums = {
      documents: this.documents,
      bodyWords: this.bodyWords,
      titleWords: this.titleWords,
    };
    const means = averages(sums);
    const sink = new TermSink(directory, name, this.weights(means));
    writeTerms(sink);
    return { name, ...sums, ...means, dictionary: sink.finish() };
  }

  private weights(means: { averageBody: number; averageTitle: number }) {
    const tables = norms(means);
    return (document: number, code: number): number => {
      const body = tables.body[this.norms[2 * document] ?? 0] ?? 0;
      const title = tables.title[this.norms[2 * document + 1] ?? 0] ?? 0;
      return saturate(bodyOccurrences(code) * body + titleOccurrences(code) * title);
    };
  }
}

/** Takes terms in order with their postings. */
export class TermSink {
  readonly encoder: TermEncoder;
  private readonly terms: TermsWriter;
  private readonly files: Record<'terms' | 'postings' | 'positions', CheckedWriter>;

  constructor(directory: Directory, name: string, weightOf: (d: number, code: number) => number) {
    this.encoder = new TermEncoder(weightOf);
    this.files = {
      terms: new CheckedWriter(directory, `${name}.terms`),
      postings: new CheckedWriter(directory, `${name}.postings`),
      positions: new CheckedWriter(directory, `${name}.positions`),
    };
    this.terms = new TermsWriter(this.files.terms);
  }

  /** Starts a term; its postings go to `encoder`. */
  start(): void {
    this.encoder.start(this.files.positions.position);
  }

  /** Ends it. */
  end(term: Uint8Array): void {
    const { encoder } = this;
    const { postings, positions } = this.files;
    const { documents, bound } = encoder.finish(postings.position);
    if (documents === 0) return;
    this.terms.add(term, {
      documents,
      bound,
      postingsAt: postings.position,
      postingsLength: encoder.postings.written,
      positionsAt: positions.position,
      positionsLength: encoder.positions.written,
    });
    encoder.postings.appendTo(postings);
    encoder.positions.appendTo(positions);
  }

  finish(): SegmentMeta['dictionary'] {
    const dictionary = this.terms.finish();
    for (const file of Object.values(this.files)) file.finish();
    return dictionary;
  }
}
