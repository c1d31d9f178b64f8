import {
  assertWhole,
  DamagedIndexError,
  openFileOf,
  SharedFile,
  type SharedFileHandle,
} from '../disk/checked.js';
import type { Directory, InputFile } from '../disk/directory.js';
import { borrowed, type OpenFile } from '../disk/filesystem.js';
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

/** The memory and the files of an open segment, for other threads. */
export interface SegmentHandle {
  readonly inMemory: Readonly<Record<InMemory, SharedFileHandle>>;
  readonly text: OpenFile;
}

/** An open, immutable segment. */
export class Segment {
  readonly terms: TermsReader;
  readonly stored: StoredReader;
  /** Two length codes per document: body, title. */
  readonly norms: Uint8Array;
  private readonly keys: KeysReader;

  private constructor(
    readonly meta: SegmentMeta,
    private readonly text: InputFile,
    private readonly files: Readonly<Record<InMemory, SharedFile>>,
  ) {
    if (files.norms.length !== 2 * meta.documents) {
      throw new DamagedIndexError(`${meta.name}: its files do not belong together`);
    }
    files.norms.ensureAll();
    this.norms = files.norms.bytes;
    this.terms = new TermsReader(files.terms, meta.dictionary);
    this.keys = new KeysReader(files.keys);
    this.stored = new StoredReader(text, meta.name, files.pages);
  }

  /**
   * Opens a segment.
   * @throws DamagedIndexError unless every file is there to its end
   */
  static open(directory: Directory, meta: SegmentMeta): Segment {
    const opened: { close(): void }[] = [];
    const keep = <T extends { close(): void }>(file: T): T => {
      opened.push(file);
      return file;
    };
    try {
      const name = `${meta.name}.text`;
      const text = keep(directory.open(name));
      assertWhole(text, name);
      const files = byKind((kind) => keep(SharedFile.open(directory, `${meta.name}.${kind}`)));
      return new Segment(meta, text, files);
    } catch (error) {
      for (const file of opened) file.close();
      throw error;
    }
  }

  /** The same segment in another thread, for as long as the thread that opened it has it open. */
  static attach(meta: SegmentMeta, { inMemory, text }: SegmentHandle): Segment {
    const files = byKind((kind) => SharedFile.attach(inMemory[kind]));
    return new Segment(meta, borrowed(text, `${meta.name}.text`), files);
  }

  get handle(): SegmentHandle {
    return { inMemory: byKind((kind) => this.files[kind].handle), text: openFileOf(this.text) };
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

function byKind<T>(of: (kind: InMemory) => T): Readonly<Record<InMemory, T>> {
  const entries = IN_MEMORY.map((kind) => [kind, of(kind)] as const);
  return Object.fromEntries(entries) as Record<InMemory, T>;
}
