import { BlockTiming } from './block-timing.js';

/** Looks that hints may bring about in one block time, however many there are. */
const HINTED_LOOKS_MAX = 4;
/** While hints come with the blocks, by how much a block that is due may be late for its hint. */
const PATIENCE_MS = 250;

/**
 * When to look for transactions: at a hint that a block is there, and by the rhythm of the blocks
 * where none comes. A hint may be false or missing. So false ones cause a bounded number of looks,
 * and true ones only spare those that the rhythm would make a little later.
 */
export class BlockWatcher {
  readonly timing: BlockTiming;
  #hintedMs = -Infinity;
  #isHinted = false;
  #lookedAtHintMs = -Infinity;

  constructor(
    /** Milliseconds from block to block; 0 when blocks come with the transactions. */
    private readonly blockTimeMs: number,
  ) {
    this.timing = new BlockTiming(blockTimeMs);
  }

  /**
   * Somebody says that a block is there; `isAwaited` when there is something to look for. True when
   * the next look is to be made earlier because of it.
   */
  hint(nowMs: number, isAwaited: boolean): boolean {
    const isNews = isAwaited && !this.#isHinted;
    this.#hintedMs = nowMs;
    this.#isHinted = isAwaited;
    return isNews;
  }

  /** Milliseconds to wait before a look; `misses` looks in a row have found nothing so far. */
  untilLook(nowMs: number, misses: number): number {
    const timingMs = this.timing.untilLook(nowMs, misses);
    if (this.#isHinted) {
      const nextMs = this.#lookedAtHintMs + this.blockTimeMs / HINTED_LOOKS_MAX;
      return Math.min(Math.max(0, nextMs - nowMs), timingMs);
    }
    const blocksSinceHint = (nowMs + timingMs - this.#hintedMs) / this.blockTimeMs;
    // The next hint will come at once with the block, as long as hints come at all.
    const isHintDue = blocksSinceHint > 0.5 && blocksSinceHint < 1.5;
    return isHintDue ? timingMs + PATIENCE_MS : timingMs;
  }

  /** A look is made now, whatever for. */
  looking(nowMs: number): void {
    if (this.#isHinted) this.#lookedAtHintMs = nowMs;
    this.#isHinted = false;
  }
}
