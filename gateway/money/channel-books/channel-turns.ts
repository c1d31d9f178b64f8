/**
 * Lets the writes of one channel through one after another. Where several transactions run at once, those
 * of one channel would all conflict at its row, and each would have to try again many times.
 */
export class ChannelTurns {
  readonly #last = new Map<string, Promise<unknown>>();

  take<T>(channelId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(channelId) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(channelId, mine);
    const forget = (): void => {
      if (this.#last.get(channelId) === mine) this.#last.delete(channelId);
    };
    void mine.then(forget, forget);
    return mine;
  }
}
