import type { PostingsCursor } from '../index/postings/cursor.js';
import type { PositionsReader } from '../index/postings/positions.js';

/** A word of a phrase: where it stands, and how far from the phrase's start it must. */
interface PhraseWord {
  readonly cursor: PostingsCursor;
  readonly positions: PositionsReader;
  readonly offset: number;
}

/**
 * Finds out whether documents that hold all words of a phrase hold the phrase. Positions are read
 * word by word, the rarest first, and no further once no place is left where the phrase may start.
 */
export class PhraseMatcher {
  private readonly words: readonly PhraseWord[];
  private starts = new Int32Array(1 << 7);

  constructor(words: readonly PhraseWord[]) {
    this.words = [...words].sort((a, b) => a.cursor.entry.documents - b.cursor.entry.documents);
  }

  /** Whether a document holds the phrase; documents must be asked for in ascending order. */
  isHeld(document: number): boolean {
    let left = -1;
    for (const word of this.words) {
      word.cursor.advance(document);
      left = left < 0 ? this.readStarts(word) : this.keepStarts(word, left);
      if (left === 0) return false;
    }
    return true;
  }

  /** Where the phrase would start for each place of this word; returns how many there are. */
  private readStarts({ positions, offset }: PhraseWord): number {
    const count = positions.read();
    if (count > this.starts.length) this.starts = new Int32Array(2 * count);
    const { starts } = this;
    const { values } = positions;
    for (let i = 0; i < count; i++) starts[i] = (values[i] ?? 0) - offset;
    return count;
  }

  /** Keeps the starts from which this word stands where it should; returns how many are left. */
  private keepStarts({ positions, offset }: PhraseWord, left: number): number {
    const count = positions.read();
    const { starts } = this;
    const { values } = positions;
    let kept = 0;
    let at = 0;
    for (let i = 0; i < left; i++) {
      const start = starts[i] ?? 0;
      while (at < count && (values[at] ?? 0) < start + offset) at++;
      if (at === count) break;
      if (values[at] === start + offset) starts[kept++] = start;
    }
    return kept;
  }
}
