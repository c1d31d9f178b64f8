/** Shows what a check does, step by step, in a list that screen readers follow. */

export type Verdict = 'done' | 'failed' | 'open';

export interface Step {
  readonly verdict: Verdict;
  readonly text: string;
}

/** A check that cannot go on; its message says why. */
export class CheckProblem extends Error {}

const MARKS: Readonly<Record<Verdict, string>> = { done: '✓', failed: '✗', open: '–' };
const WORDS: Readonly<Record<Verdict, string>> = { done: 'Works', failed: 'Broken', open: 'Open' };

export class Steps {
  readonly #shown: Step[] = [];

  constructor(readonly list: HTMLElement | null) {}

  /** The steps so far, to show them again on another page. */
  get all(): readonly Step[] {
    return this.#shown;
  }

  clear(): void {
    this.#shown.length = 0;
    this.list?.replaceChildren();
  }

  add(text: string, verdict: Verdict = 'done'): void {
    this.#shown.push({ text, verdict });
    const item = document.createElement('li');
    item.className = verdict;
    const mark = document.createElement('span');
    mark.className = 'sign';
    mark.ariaHidden = 'true';
    mark.textContent = MARKS[verdict];
    const word = document.createElement('span');
    word.className = 'hidden';
    word.textContent = `${WORDS[verdict]}: `;
    item.append(mark, word, text);
    this.list?.append(item);
  }

  /** Runs a check from the start; what stops it is its last step. */
  async run(check: () => Promise<void>): Promise<void> {
    this.clear();
    await this.goOn(check);
  }

  async goOn(check: () => Promise<void>): Promise<void> {
    const busy = this.list;
    busy?.setAttribute('aria-busy', 'true');
    try {
      await check();
    } catch (error) {
      this.add(error instanceof CheckProblem ? error.message : unreachable(error), 'failed');
    } finally {
      busy?.removeAttribute('aria-busy');
    }
  }
}

/** A browser says no more about a request that did not come through than that. */
function unreachable(error: unknown): string {
  const detail = error instanceof Error ? error.message : String(error);
  return `This page couldn’t reach the address (${detail}).`;
}
