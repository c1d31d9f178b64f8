import type { Clock } from './domain/ports.js';

/**
 * Lets many callers that come at the same moment through one by one, a round of the event loop for
 * each, so that everything else gets its turn in between. Who comes alone does not wait.
 */
export class OneByOne {
  readonly #waiting: (() => void)[] = [];
  /** Somebody has come through in this round of the event loop. */
  #isTaken = false;

  constructor(private readonly clock: Pick<Clock, 'defer'>) {}

  /** Resolves, or calls back at once where nobody else came in this round, when it is one's turn. */
  enter(go: () => void): void {
    if (this.#isTaken) {
      this.#waiting.push(go);
      return;
    }
    this.#isTaken = true;
    this.clock.defer(() => this.#next());
    go();
  }

  /** The same as a promise. */
  pass(): Promise<void> {
    return new Promise((resolve) => this.enter(resolve));
  }

  #next(): void {
    this.#isTaken = false;
    const go = this.#waiting.shift();
    if (go) this.enter(go);
  }
}
