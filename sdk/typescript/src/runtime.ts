/** Time and chance, so that tests can own them. */
export interface Runtime {
  /** Wall clock, milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Resolves after `ms`, or at once when `signal` aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** At least 0, below 1; not for secrets. */
  random(): number;
  /** `length` unpredictable bytes. */
  bytes(length: number): Uint8Array;
}

export const realRuntime: Runtime = {
  nowMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done);
    }),
  random: () => Math.random(),
  bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
};
