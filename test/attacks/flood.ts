import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

export type FloodKind =
  /** Payments of unknown payers with random signatures. */
  | 'forged'
  /** The same of one payer, who has no code. */
  | 'known-payer'
  /** Payments for a resource of 2,000 slashes. */
  | 'slashes'
  /** Questions about payments of one payer, with random signatures. */
  | 'proofs'
  | 'tools'
  | 'oauth'
  | 'console'
  | 'docs'
  | 'bad-keys';

/** What one address sends. */
export interface Flood {
  readonly url: string;
  readonly kind: FloodKind;
  readonly perSecond: number;
  readonly seconds: number;
  readonly localAddress: string;
  /** What a 402 asked for. */
  readonly challenge: Challenge;
}

export interface Challenge {
  readonly accepts: readonly { readonly payTo: string; readonly amount: string }[];
}

export interface FloodReport {
  readonly sent: number;
  /** Answers by status; 0 for none. */
  readonly statuses: Readonly<Record<number, number>>;
}

/** Floods from a thread of its own. */
export async function flood(what: Flood): Promise<FloodReport> {
  const worker = new Worker(new URL('./flood-thread.js', import.meta.url), { workerData: what });
  const [report] = (await once(worker, 'message')) as [FloodReport];
  await worker.terminate();
  return report;
}
