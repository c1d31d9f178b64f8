import type { UnixMillis } from './units.js';

/** Time, so that a simulator can own it. Durations use `monotonicMs`: wall clocks jump. */
export interface Clock {
  /** Wall-clock time. */
  now(): UnixMillis;
  /** A clock that only moves forward, in milliseconds from an arbitrary start. */
  monotonicMs(): number;
  /** Resolves after `ms`, or at once when `signal` aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs `task` after the I/O that is already queued, as `setImmediate` does. */
  defer(task: () => void): void;
}

/** Randomness, so that a simulator can replay it. */
export interface Random {
  /** `length` unpredictable bytes. */
  bytes(length: number): Uint8Array;
  /** A random UUID (RFC 9562, version 4). */
  uuid(): string;
}

/** Structured logging; fields never hold keys, signatures or authorization headers. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
