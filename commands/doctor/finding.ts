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

/** What a check comes to that could not be made at all. */
export async function guarded(
  check: string,
  look: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await look();
  } catch (error) {
    return [
      bad(
        check,
        `This check failed: ${reasonOf(error)}`,
        'Mend what is found beside it, then run this again.',
      ),
    ];
  }
}
