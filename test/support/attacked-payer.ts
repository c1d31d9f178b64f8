/**
 * One process that pays, as an attack needs several of: reads what to do from its one argument
 * (JSON), waits for the time that all of them start at, and ends. Its searches may fail.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Search402, type PaymentOptions } from '../../sdk/typescript/src/index.js';
import { FileStore, privateKeyAccount } from '../../sdk/typescript/src/node/index.js';

export interface PayerOrder {
  readonly baseUrl: string;
  readonly privateKey: string;
  readonly queries: readonly string[];
  /** The default store, in a place that the environment names, when there is none. */
  readonly store?: string;
  readonly maxPerDay?: string;
  /** Unix milliseconds. */
  readonly startAtMs?: number;
  /** No payment is sent before this time (Unix milliseconds), so that all have been signed. */
  readonly payAtMs?: number;
}

const order = JSON.parse(process.argv[2] ?? '') as PayerOrder;
const payment: PaymentOptions = {
  ...(order.store !== undefined && { store: new FileStore(order.store) }),
  maxPerDay: order.maxPerDay,
};
const until = (atMs = 0) => sleep(Math.max(0, atMs - Date.now()));
const client = new Search402({
  fetch: async (input, init) => {
    if (new Headers(init?.headers).has('payment-signature')) await until(order.payAtMs);
    return fetch(input, init);
  },
  baseUrl: order.baseUrl,
  wallet: privateKeyAccount(order.privateKey),
  payment,
  logLevel: 'off',
});
await until(order.startAtMs);
for (const query of order.queries) await client.search({ query }).catch(() => undefined);
