import type { Refusal } from './refusal.js';

/**
 * What a caller may have asked of the chain before it has paid anything. Each question is taken
 * before it is asked: a question that several share counts as a part of one.
 */
export interface ChainAllowance {
  /** Takes so many questions, or refuses with `rate_limited` and takes none. */
  take(questions: number): Refusal | undefined;
}

/** For callers that are bounded in another way: those with a key. */
export const UNBOUNDED: ChainAllowance = { take: () => undefined };
