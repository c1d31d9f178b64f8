import { CheckedWriter, SharedFile } from '../disk/checked.js';
import type { Directory } from '../disk/directory.js';

/** Which documents of a segment are deleted: a bit each. Segments never change; these are versions. */
export class DeletedSet {
  count = 0;
  private readonly bits: Uint8Array;

  constructor(bits: Uint8Array) {
    this.bits = bits;
    for (const byte of bits) for (let rest = byte; rest > 0; rest &= rest - 1) this.count++;
  }

  static none(documents: number): DeletedSet {
    return new DeletedSet(new Uint8Array((documents + 7) >> 3));
  }

  has(document: number): boolean {
    return (((this.bits[document >> 3] ?? 0) >> (document & 7)) & 1) === 1;
  }

  private add(document: number): void {
    if (this.has(document)) return;
    this.bits[document >> 3] = (this.bits[document >> 3] ?? 0) | (1 << (document & 7));
    this.count++;
  }

  /** This set and some more; the set itself if there are none. */
  with(more: Iterable<number>): DeletedSet {
    let grown: DeletedSet | undefined;
    for (const document of more) {
      grown ??= new DeletedSet(this.bits.slice());
      grown.add(document);
    }
    return grown ?? this;
  }

  toBytes(): Uint8Array {
    return this.bits.slice();
  }

  write(directory: Directory, name: string): void {
    const file = new CheckedWriter(directory, name);
    file.append(this.bits);
    file.finish();
  }

  static read(directory: Directory, name: string): DeletedSet {
    const file = SharedFile.open(directory, name);
    try {
      file.ensureAll();
      return new DeletedSet(file.bytes.slice());
    } finally {
      file.close();
    }
  }
}
