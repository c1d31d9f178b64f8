import { DamagedIndexError, SharedFile, type SharedFileHandle } from '../disk/checked.js';
import type { Directory } from '../disk/directory.js';
import type { Page } from '../page.js';
import { type SegmentFile, type SegmentMeta } from './files.js';
import { hashUrl, KeysReader } from './keys.js';
import { PostingsCursor } from './postings/cursor.js';
import { PositionsReader } from './postings/positions.js';
import { type PickParts, StoredReader } from './stored.js';
import { TermsReader } from './terms.js';

type InMemory = Exclude<SegmentFile, 'text'>;
const IN_MEMORY: readonly InMemory[] = ['terms', 'postings', 'positions', 'norms', 'keys', 'pages'];

const NO_PARTS: PickParts = () => ({ from: 0, to: 0 });

/** The memory of an open segment, for other threads. */
export type SegmentHandle = Readonly<Record<InMemory, SharedFileHandle>>;

/** An open, immutable segment. */
export class Segment {
  readonly terms: TermsReader;
  readonly stored: StoredReader;
  /** Two length codes per document: body, title. */
  readonly norms: Uint8Array;
  private readonly keys: KeysReader;

  private constructor(
    readonly meta: SegmentMeta,
    directory: Directory,
    private readonly files: Readonly<Record<InMemory, SharedFile>>,
  ) {
    if (files.norms.length !== 2 * meta.documents) {
      throw new DamagedIndexError(`${meta.name}: its files do not belong together`);
    }
    files.norms.ensureAll();
    this.norms = files.norms.bytes;
    this.terms = new TermsReader(files.terms, meta.dictionary);
    this.keys = new KeysReader(files.keys);
    this.stored = new StoredReader(directory, meta.name, files.pages);
  }

  /** Opens a segment, over memory that another thread filled if `shared` is given. */
  static open(directory: Directory, meta: SegmentMeta, shared?: SegmentHandle): Segment {
    const opened: SharedFile[] = [];
    try {
      const files = IN_MEMORY.map((kind) => {
        const file = SharedFile.open(directory, `${meta.name}.${kind}`, shared?.[kind]);
        opened.push(file);
        return [kind, file] as const;
      });
      return new Segment(
        meta,
        directory,
        Object.fromEntries(files) as Record<InMemory, SharedFile>,
      );
    } catch (error) {
      for (const file of opened) file.close();
      throw error;
    }
  }

  get handle(): SegmentHandle {
    const entries = IN_MEMORY.map((kind) => [kind, this.files[kind].handle] as const);
    return Object.fromEntries(entries) as Record<InMemory, SharedFileHandle>;
  }

  cursor(): PostingsCursor {
    return new PostingsCursor(this.files.postings);
  }

  positions(cursor: PostingsCursor): PositionsReader {
    return new PositionsReader(this.files.positions, cursor);
  }

  /** A page, with the wanted parts of its text if it is long. */
  page(document: number, pick?: PickParts): Page {
    return this.stored.page(document, pick);
  }

  /** The document that holds a URL and is not gone; −1 if none does. */
  find(url: string, isGone: (document: number) => boolean = () => false): number {
    const found = this.keys.documents(hashUrl(url));
    const isIt = (document: number): boolean =>
      !isGone(document) && this.page(document, NO_PARTS).url === url;
    return found.find(isIt) ?? -1;
  }

  /** The hash of each document's URL. */
  urlHashes(): Uint32Array {
    return this.keys.all();
  }

  /** Compares all checksums, on disk as it is now; throws DamagedIndexError. */
  verify(): void {
    for (const kind of IN_MEMORY) this.files[kind].verify();
    this.stored.verify();
  }

  close(): void {
    for (const kind of IN_MEMORY) this.files[kind].close();
    this.stored.close();
  }
}
