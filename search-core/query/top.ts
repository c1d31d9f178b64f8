import type { Ranked } from '../rank/rerank.js';

/** Times this, a 32-bit float is less, by no more than two steps. */
const BELOW = 1 - 2 ** -23;
/** Room for rounding when scores are compared that are sums of others. */
const ROOM = 1 - 1e-6;

/**
 * The best `size` documents so far, offered in any order: a binary heap with the worst on top.
 *
 * Where scores will still change, but only `wanted` documents will be asked for in the end and no
 * score can gain more than `gain`, documents that the best so far have left behind are not kept.
 */
export class TopDocuments {
  private count = 0;
  private readonly scores: Float64Array;
  private readonly documents: Int32Array;
  private readonly leaders: TopDocuments | undefined;
  /** What scores so much or less will not be among the wanted. */
  private floor = 0;

  constructor(
    private readonly size: number,
    wanted = size,
    private readonly gain = 0,
  ) {
    this.scores = new Float64Array(size);
    this.documents = new Int32Array(size);
    this.leaders = wanted < size ? new TopDocuments(wanted) : undefined;
  }

  /**
   * A document from `document` on must score more than this to get in: of two with the same score
   * the first one is better. Scores are 32-bit floats.
   */
  thresholdFrom(document: number): number {
    if (this.count < this.size) return this.floor;
    const worst = this.scores[0] ?? 0;
    return Math.max(this.floor, document > (this.documents[0] ?? 0) ? worst : worst * BELOW);
  }

  offer(document: number, score: number): void {
    if (this.count < this.size) this.siftUp(this.count++, document, score);
    else if (this.isWorse(0, document, score)) this.siftDown(document, score);
    else return;
    if (!this.leaders) return;
    this.leaders.offer(document, score);
    this.floor = Math.max(0, ROOM * this.leaders.thresholdFrom(0) - this.gain);
  }

  /** Best first, equals in document order. */
  sorted(): Ranked[] {
    return Array.from({ length: this.count }, (_, i) => ({
      page: this.documents[i] ?? 0,
      score: this.scores[i] ?? 0,
    }))
      .filter(({ score }) => score > this.floor)
      .sort((a, b) => b.score - a.score || a.page - b.page);
  }

  /** Whether entry i is worse than this one. */
  private isWorse(i: number, document: number, score: number): boolean {
    const other = this.scores[i] ?? 0;
    return other < score || (other === score && (this.documents[i] ?? 0) > document);
  }

  private set(i: number, document: number, score: number): void {
    this.documents[i] = document;
    this.scores[i] = score;
  }

  private siftUp(from: number, document: number, score: number): void {
    let i = from;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (this.isWorse(parent, document, score)) break;
      this.set(i, this.documents[parent] ?? 0, this.scores[parent] ?? 0);
      i = parent;
    }
    this.set(i, document, score);
  }

  private siftDown(document: number, score: number): void {
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= this.count) break;
      const right = child + 1;
      if (
        right < this.count &&
        this.isWorse(right, this.documents[child] ?? 0, this.scores[child] ?? 0)
      ) {
        child = right;
      }
      if (!this.isWorse(child, document, score)) break;
      this.set(i, this.documents[child] ?? 0, this.scores[child] ?? 0);
      i = child;
    }
    this.set(i, document, score);
  }
}
