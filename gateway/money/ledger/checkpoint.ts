/**
 * The moments between which everything may be lost: each is just after a commit or an effect that
 * the next one builds on. Tests end the process here, by signal or by never letting it go on.
 */
export type CrashPoint =
  /** The reservation is durable; the search has not run. */
  | 'after-reserve'
  /** The reply is durable; nothing is signed. */
  | 'after-serve'
  /** A transaction is signed in memory; the books do not know it. */
  | 'after-sign'
  /** The signed bytes are durable; the chain has not seen them. */
  | 'after-sign-commit'
  /** The chain may have the transaction; the books do not say so. */
  | 'after-broadcast'
  /** The receipt is known in memory only. */
  | 'after-receipt'
  /** The settlement is durable; nobody was answered. */
  | 'after-settle-commit';

/** Told at each point; whatever waits for its answer goes no further until it comes. */
export type Checkpoint = (point: CrashPoint) => Promise<void> | void;

/** For everyday use: nothing happens. */
export const passCheckpoint: Checkpoint = () => undefined;
