import type { Clock } from './domain/ports.js';

/**
 * Lets many callers that come at the same moment through a few at a time, a round of the event loop
 * for each few, so that everything else gets its turn in between. Who comes alone does not wait.
 */
export class FewByFew {
  readonly #waiting: (() => void)[] = [];
  /** How many have come through in this round of the event loop. */
  #through = 0;

  constructor(
    private readonly clock: Pick<Clock, 'defer'>,
    private readonly perRound: number,
  ) {}

  /** Calls back when it is one's turn: at once where few others came in this round. */
  enter(go: () => void): void {
    if (this.#through === this.perRound) {
      this.#waiting.push(go);
      return;
    }
    this.#through += 1;
    if (this.#through === 1) this.clock.defer(() => this.#next());
    go();
  }

  /** The same as a promise. */
  pass(): Promise<void> {
    return new Promise((resolve) => this.enter(resolve));
  }

  #next(): void {
    this.#through = 0;
    for (const go of this.#waiting.splice(0, this.perRound)) this.enter(go);
  }
}
