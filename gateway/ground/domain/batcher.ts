interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Collects what arrives while one batch is being worked on into the next one. One batch runs at a
 * time, so that requests of one account do not fight each other for its row; a lone item does not
 * wait for company beyond the I/O that is queued already.
 */
export class Batcher<Item, Result> {
  readonly #waiting: Waiting<Item, Result>[] = [];
  #running: Promise<void> | undefined;

  constructor(
    /** Works on the items together; answers with one result each, in their order. */
    private readonly work: (items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly defer: (task: () => void) => void,
    private readonly batchMax: number,
  ) {}

  submit(item: Item): Promise<Result> {
    const result = new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
    });
    this.#running ??= this.#run();
    return result;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise<void>((resolve) => this.defer(resolve));
      const batch = this.#waiting.splice(0, this.batchMax);
      try {
        const results = await this.work(batch.map(({ item }) => item));
        batch.forEach(({ resolve, reject }, index) => {
          const result = results[index];
          if (result === undefined) reject(new Error('a batch answered too few of its items'));
          else resolve(result);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#running = undefined;
  }
}
