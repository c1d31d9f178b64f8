/** Limits of a batcher. */
interface BatchLimits {
  /** Items in one batch. */
  readonly batchMax: number;
  /** Items that wait; more are turned away. */
  readonly queueMax: number;
  /** Batches at the same time: a second one starts only when a whole batch is waiting. */
  readonly runningMax: number;
}

/**
 * Gathers items that arrive while work is under way, so that they share the next round of it.
 * An item that finds nothing under way starts at once.
 *
 * `work` gets 1 to `batchMax` items and resolves with one result for each, in order; when it
 * rejects, every item of the batch rejects with its error. Returns undefined when the queue is full.
 */
export function createBatcher<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  { batchMax, queueMax, runningMax }: BatchLimits,
): (item: Item) => Promise<Result> | undefined {
  const queue: Waiting<Item, Result>[] = [];
  let running = 0;

  const startDue = () => {
    while (queue.length > 0 && running < runningMax && (running === 0 || queue.length >= batchMax))
      void run(queue.splice(0, batchMax));
  };

  const run = async (batch: Waiting<Item, Result>[]) => {
    running += 1;
    try {
      const results = await work(batch.map(({ item }) => item));
      if (results.length !== batch.length) throw new Error('a batch lost results');
      results.forEach((result, index) => batch[index]?.resolve(result));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      running -= 1;
      startDue();
    }
  };

  return (item) => {
    if (queue.length >= queueMax) return undefined;
    return new Promise<Result>((resolve, reject) => {
      queue.push({ item, resolve, reject });
      startDue();
    });
  };
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}
