import type { Clock } from '../../ground/domain/ports.js';

/** Limits of a batcher. */
interface BatchLimits {
  /** Items in one batch. */
  readonly batchMax: number;
  /** Items that wait; more are turned away. */
  readonly queueMax: number;
  /** Batches at the same time: a second one starts only when a whole batch is waiting. */
  readonly runningMax: number;
  /** Without it, nothing ever waits for company. */
  readonly company?: Company;
}

/** How a batcher waits for more items where they have lately come together. */
export interface Company {
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  /** Milliseconds for which items are gathered. */
  readonly gatherMs: number;
  /** Milliseconds since the last shared batch for which company is expected. */
  readonly expectMs: number;
}

/**
 * Gathers items that arrive while work is under way, so that they share the next round of it.
 * An item that finds nothing under way starts at once, unless company is expected.
 *
 * `work` gets 1 to `batchMax` items and resolves with one result for each, in order; when it
 * rejects, every item of the batch rejects with its error. Returns undefined when the queue is full.
 */
export function createBatcher<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  { batchMax, queueMax, runningMax, company }: BatchLimits,
): (item: Item) => Promise<Result> | undefined {
  const queue: Waiting<Item, Result>[] = [];
  let running = 0;
  let sharedAtMs = -Infinity;
  let isGathering = false;

  const startDue = () => {
    while (queue.length >= batchMax && running < runningMax) void runNext();
    if (queue.length === 0 || running > 0 || isGathering) return;
    if (company && company.clock.monotonicMs() - sharedAtMs < company.expectMs) gather(company);
    else void runNext();
  };

  const gather = ({ clock, gatherMs }: Company) => {
    isGathering = true;
    void clock.sleep(gatherMs).then(() => {
      isGathering = false;
      if (queue.length > 0 && running === 0) void runNext();
    });
  };

  const runNext = async () => {
    const batch = queue.splice(0, batchMax);
    running += 1;
    if (company && batch.length > 1) sharedAtMs = company.clock.monotonicMs();
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
