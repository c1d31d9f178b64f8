/**
 * When the next block can be seen, learned from sights of blocks that cost nothing extra.
 *
 * Chains of constant block time keep their phase: block N can be seen from `phase + N · interval` on.
 * Whoever sees N as the newest block at time t knows that the phase lies in
 * (t − (N + 1) · interval, t − N · interval], and every further sight cuts a piece off. Where the
 * remaining piece is short, one look at its end finds the block; where it is long, a look in its
 * middle halves it.
 */
export class BlockTiming {
  #phase: Bounds | undefined;
  /** The block from which others are counted, so that numbers stay exact. */
  #origin: bigint | undefined;
  /** When something was last learned. */
  #sightMs = 0;

  constructor(
    /** Milliseconds from block to block; 0 when blocks come with the transactions. */
    private readonly blockTimeMs: number,
  ) {}

  /** At `nowMs` this was the newest block. */
  sawNewest(block: bigint, nowMs: number): void {
    if (this.blockTimeMs === 0) return;
    const atMostMs = nowMs - this.#start(block);
    // The answer may have been on its way for a while, and the next block with it.
    this.#narrow({ afterMs: atMostMs - this.blockTimeMs - JITTER_MS, atMostMs }, nowMs);
  }

  /** At `nowMs` this block was there; newer ones may have been, too. */
  saw(block: bigint, nowMs: number): void {
    if (this.blockTimeMs === 0) return;
    this.#narrow({ afterMs: -Infinity, atMostMs: nowMs - this.#start(block) }, nowMs);
  }

  /** At `nowMs` this block was not there yet. */
  missed(block: bigint, nowMs: number): void {
    if (this.blockTimeMs === 0) return;
    this.#narrow({ afterMs: nowMs - this.#start(block), atMostMs: Infinity }, nowMs);
  }

  /** Milliseconds to wait before a look; `misses` looks in a row have found nothing so far. */
  untilLook(nowMs: number, misses: number): number {
    if (this.blockTimeMs === 0) return AUTOMINE_LOOK_MS;
    if (!this.#phase) return AGAIN_MS;
    const { afterMs, atMostMs } = this.#phase;
    const spreadMs = atMostMs - afterMs;
    const sinceMs = modulo(nowMs - afterMs, this.blockTimeMs);
    const aimMs = spreadMs <= SPREAD_MS ? spreadMs + MARGIN_MS : spreadMs / 2;
    if (sinceMs < aimMs) return Math.max(aimMs - sinceMs, 1);
    // Late blocks are waited for, but not what the last block has not taken along.
    const patienceMs = misses > 0 ? PATIENCE_MS : 0;
    if (sinceMs < spreadMs + patienceMs) return Math.max(AGAIN_MS, (spreadMs - sinceMs) / 2);
    return this.blockTimeMs - sinceMs + aimMs;
  }

  /** When this block starts, counted from the phase, in milliseconds. */
  #start(block: bigint): number {
    this.#origin ??= block;
    return Number(block - this.#origin) * this.blockTimeMs;
  }

  #narrow({ afterMs, atMostMs }: Bounds, nowMs: number): void {
    const before = this.#phase ?? { afterMs: -Infinity, atMostMs: Infinity };
    // What was learned fades with time, so that a phase which wanders is followed.
    const fadeMs = Math.max(0, nowMs - this.#sightMs) * WANDERING;
    this.#sightMs = Math.max(this.#sightMs, nowMs);
    const after = Math.max(before.afterMs - fadeMs, afterMs);
    const atMost = Math.min(before.atMostMs + fadeMs, atMostMs);
    const contradictionMs = after - atMost;
    if (contradictionMs < 0) this.#know({ afterMs: after, atMostMs: atMost });
    else if (contradictionMs > this.blockTimeMs / 4) this.#know({ afterMs, atMostMs });
    // A block was a little early or late: the new sight is right, and the old ones nearly.
    else if (atMost === atMostMs) this.#know({ afterMs: atMost - JITTER_MS, atMostMs: atMost });
    else this.#know({ afterMs: after, atMostMs: after + JITTER_MS });
  }

  /** Bounds that are open to one side, or wider than an interval, are an interval wide. */
  #know({ afterMs, atMostMs }: Bounds): void {
    const from = Number.isFinite(afterMs) ? afterMs : atMostMs - this.blockTimeMs;
    this.#phase = { afterMs: from, atMostMs: Math.min(atMostMs, from + this.blockTimeMs) };
  }
}

/** Something lies after one moment, and not after another; monotonic milliseconds. */
interface Bounds {
  readonly afterMs: number;
  readonly atMostMs: number;
}

const modulo = (value: number, by: number) => ((value % by) + by) % by;

/** Short enough for one look at its end. */
const SPREAD_MS = 100;
/** A look so much too late costs nothing beside one that is a little too early and made again. */
const MARGIN_MS = 10;
/** How fast a phase may wander: clocks that NTP keeps right gain or lose no more (RFC 5905). */
const WANDERING = 500e-6;
/** By how much blocks are early or late when nothing is wrong. */
const JITTER_MS = 50;
/** Between two looks for a block that is due. */
const AGAIN_MS = 120;
/** How long a block that is due is looked for. */
const PATIENCE_MS = 500;
const AUTOMINE_LOOK_MS = 15;
