import type { SearchEnd, SearchLimits } from '../engine.js';

/** Milliseconds from an arbitrary start that only grow. */
export type Now = () => number;

/** What a search may still spend. It is asked at every window of documents, not at every posting. */
export class Budget {
  postings = 0;
  ended: SearchEnd = 'complete';
  private readonly endsAt: number;

  constructor(
    private readonly now: Now,
    private readonly limits: SearchLimits,
  ) {
    this.endsAt = now() + limits.deadlineMs;
  }

  /** Counts postings that were read; whether the search has to end. */
  spend(postings: number): boolean {
    this.postings += postings;
    if (this.ended === 'complete') {
      if (this.postings > this.limits.postingsMax) this.ended = 'postings';
      else if (this.now() > this.endsAt) this.ended = 'deadline';
    }
    return this.ended !== 'complete';
  }
}
