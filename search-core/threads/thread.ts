import { parentPort, Worker } from 'node:worker_threads';
import type { Answer, Ask } from './messages.js';

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/** A worker thread that answers asks, one after the other. */
export class Thread<A> {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, Waiting>();
  private lastId = 0;
  private ended: Error | undefined;

  /** @param onEnd called when the thread ended by itself, which only a bug makes it do */
  constructor(module: URL, workerData: unknown, onEnd: (error: Error) => void) {
    this.worker = new Worker(module, { workerData });
    this.worker.on('message', (answer: Answer<never>) => {
      const waiting = this.waiting.get(answer.id);
      this.waiting.delete(answer.id);
      if (answer.error === undefined) waiting?.resolve(answer.value);
      else waiting?.reject(new Error(answer.error));
    });
    let cause: unknown;
    this.worker.on('error', (error) => (cause = error));
    this.worker.on('exit', () => {
      const isExpected = this.ended !== undefined;
      this.ended ??= new Error('a thread of the engine ended', { cause });
      for (const { reject } of this.waiting.values()) reject(this.ended);
      this.waiting.clear();
      if (!isExpected) onEnd(this.ended);
    });
  }

  /** Asks in order; how many asks are not answered yet is `pending`. */
  ask<T>(body: A): Promise<T> {
    const { ended } = this;
    if (ended) return Promise.reject(ended);
    const ask: Ask<A> = { id: ++this.lastId, body };
    return new Promise((resolve, reject) => {
      this.waiting.set(ask.id, { resolve, reject });
      this.worker.postMessage(ask);
    });
  }

  get pending(): number {
    return this.waiting.size;
  }

  async end(): Promise<void> {
    this.ended ??= new Error('the engine is closed');
    await this.worker.terminate();
  }
}

/** The other side: answers each ask with what `handle` returns or throws. */
export function answerAsks(handle: (body: never) => unknown): void {
  const port = parentPort;
  if (!port) throw new Error('this module runs in a worker thread');
  let last: Promise<void> = Promise.resolve();
  port.on('message', ({ id, body }: Ask<never>) => {
    last = last.then(async () => {
      try {
        port.postMessage({ id, value: await handle(body) });
      } catch (error) {
        port.postMessage({ id, error: error instanceof Error ? error.message : String(error) });
      }
    });
  });
}
