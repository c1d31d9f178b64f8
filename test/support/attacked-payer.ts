/**
 * One process that pays, as an attack needs several of: reads what to do from its one argument
 * (JSON), and ends. Its searches may fail.
 */
import { once } from 'node:events';
import { Search402, type PaymentOptions } from '../../sdk/typescript/src/index.js';
import { FileStore, privateKeyAccount } from '../../sdk/typescript/src/node/index.js';

export interface PayerOrder {
  readonly baseUrl: string;
  readonly privateKey: string;
  readonly queries: readonly string[];
  /** The default store, in a place that the environment names, when there is none. */
  readonly store?: string;
  readonly maxPerDay?: string;
  /** Tells its parent of each step, and waits until it may go on: several then do it at once. */
  readonly isInStep?: boolean;
}

/** What a payer tells: that it may search, and that it has a payment to send. */
export type PayerStep = 'started' | 'signed';

const order = JSON.parse(process.argv[2] ?? '') as PayerOrder;
const payment: PaymentOptions = {
  ...(order.store !== undefined && { store: new FileStore(order.store) }),
  maxPerDay: order.maxPerDay,
};
const told = new Set<PayerStep>();

/** Once for each step; a payment that is sent again does not wait. */
async function inStep(step: PayerStep): Promise<void> {
  if (order.isInStep !== true || told.has(step)) return;
  told.add(step);
  process.send?.(step);
  await once(process, 'message');
}

const client = new Search402({
  fetch: async (input, init) => {
    if (new Headers(init?.headers).has('payment-signature')) await inStep('signed');
    return fetch(input, init);
  },
  baseUrl: order.baseUrl,
  wallet: privateKeyAccount(order.privateKey),
  payment,
  logLevel: 'off',
});
await inStep('started');
for (const query of order.queries) await client.search({ query }).catch(() => undefined);
if (process.connected) process.disconnect();
