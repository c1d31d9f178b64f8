/** One thing that was looked at, and what to do where it is not as it should be. */
export interface Finding {
  /** What was looked at: a part and a word, as in `rpc.chain`. Programs read it. */
  readonly check: string;
  /** `bad` keeps the service, or payments, from working; `warning` will one day. */
  readonly state: 'good' | 'warning' | 'bad';
  /** What was found, in a sentence. */
  readonly said: string;
  /** What to do about it: there unless all is good. */
  readonly cure?: string;
}

export const good = (check: string, said: string): Finding => ({ check, state: 'good', said });

export const warning = (check: string, said: string, cure: string): Finding => ({
  check,
  state: 'warning',
  said,
  cure,
});

export const bad = (check: string, said: string, cure: string): Finding => ({
  check,
  state: 'bad',
  said,
  cure,
});

export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** Each step of a check has a limit of its own; this ends what has many steps. */
const CHECK_LIMIT_MS = 30_000;

/** Rejects when `work` takes longer than `limitMs` milliseconds. */
export async function inTime<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`no answer within ${limitMs / 1000} seconds`);
    timer = setTimeout(() => reject(error), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What a check comes to that could not be made at all, or not in time. */
export async function guarded(
  check: string,
  look: () => Promise<readonly Finding[]>,
  limitMs = CHECK_LIMIT_MS,
): Promise<readonly Finding[]> {
  try {
    return await inTime(look(), limitMs);
  } catch (error) {
    return [
      bad(
        check,
        `The check of ${check} failed: ${reasonOf(error)}.`,
        'Mend what is found beside it, then run this again.',
      ),
    ];
  }
}
