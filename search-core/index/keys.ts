import { hashBytes } from '../analyze/tokenize.js';
import type { CheckedWriter, SharedFile } from '../disk/checked.js';

/**
 * Finds a page by its URL: pairs of (hash of the URL, document), sorted by hash. The hash has 32
 * bits and anyone can make two URLs that share one, so the caller compares the stored URL.
 *
 *     uint32[D] hashes ascending, uint32[D] their documents
 */
export function hashUrl(url: string): number {
  const bytes = Buffer.from(url);
  return hashBytes(bytes) >>> 0;
}

export function writeKeys(file: CheckedWriter, hashes: readonly number[]): void {
  const order = Uint32Array.from(hashes.keys()).sort(
    (a, b) => (hashes[a] ?? 0) - (hashes[b] ?? 0) || a - b,
  );
  file.append(new Uint8Array(order.map((document) => hashes[document] ?? 0).buffer));
  file.append(new Uint8Array(order.buffer));
  file.finish();
}

export class KeysReader {
  private readonly count: number;

  constructor(private readonly file: SharedFile) {
    this.count = file.length / 8;
  }

  /** The documents whose URL has this hash, ascending. */
  documents(hash: number): number[] {
    this.file.ensureAll();
    const { words } = this.file;
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((words[middle] ?? 0) >>> 0 < hash) low = middle + 1;
      else high = middle;
    }
    const found: number[] = [];
    for (; low < this.count && (words[low] ?? 0) >>> 0 === hash; low++) {
      found.push((words[this.count + low] ?? 0) >>> 0);
    }
    return found;
  }

  /** Every document's hash. */
  all(): Uint32Array {
    this.file.ensureAll();
    const hashes = new Uint32Array(this.count);
    for (let i = 0; i < this.count; i++) {
      hashes[this.file.words[this.count + i] ?? 0] = this.file.words[i] ?? 0;
    }
    return hashes;
  }
}
