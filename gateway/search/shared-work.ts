/** Work that several callers wait for at once, done once. */
export interface SharedWork<T> {
  /**
   * Joins the work of `key`, or starts it. `start` gets a signal that aborts when the last of
   * those who wait has gone; everybody who joined gets the one result.
   */
  join(key: string, leave: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Pieces of work under way. */
  readonly size: number;
}

export function createSharedWork<T>(): SharedWork<T> {
  const shared = new Map<string, { result: Promise<T>; waiting: number; end: AbortController }>();

  const take = (key: string, start: (signal: AbortSignal) => Promise<T>) => {
    const existing = shared.get(key);
    if (existing) return existing;
    const end = new AbortController();
    const result = start(end.signal).finally(() => shared.delete(key));
    const work = { result, waiting: 0, end };
    shared.set(key, work);
    return work;
  };

  return {
    join: async (key, leave, start) => {
      const work = take(key, start);
      work.waiting += 1;
      const onLeave = () => {
        work.waiting -= 1;
        if (work.waiting === 0) work.end.abort();
      };
      if (leave.aborted) onLeave();
      else leave.addEventListener('abort', onLeave, { once: true });
      try {
        return await work.result;
      } finally {
        leave.removeEventListener('abort', onLeave);
      }
    },
    get size() {
      return shared.size;
    },
  };
}
