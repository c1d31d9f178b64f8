import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../domain/ports.js';

const BUCKETS_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** Numbers by the value of a label. */
type Labelled = readonly (readonly [string, number])[];

/** What a search waits for: search-core, a transaction or a read, a JSON-RPC call, its settlement. */
export type Part = 'search-core' | 'database' | 'rpc' | 'settlement';

/** What the operator watches, in the Prometheus text format. */
export interface Metrics {
  /** One finished search: who paid, what came of it (`ok` or a refusal's code), seconds taken. */
  search(payer: 'account' | 'payment' | 'nobody' | 'free', outcome: string, seconds: number): void;
  /** One JSON-RPC call to the chain. */
  rpcCall(method: string): void;
  /** The same work, which leaves behind how long it took, whether it ended well or not. */
  timed<Given extends readonly unknown[], T>(
    part: Part,
    work: (...given: Given) => Promise<T>,
  ): (...given: Given) => Promise<T>;
  /** Adds a number that is read when the metrics are; left out while it cannot be read. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void;
  /** Adds a number for each of several things, by a label. */
  gauges(name: string, help: string, label: string, read: () => Labelled | Promise<Labelled>): void;
  /** One try to have a search answered by a search-core. */
  searchTry(node: string, ended: 'answered' | 'failed'): void;
  /** The whole exposition. */
  text(): Promise<{ body: string; contentType: string }>;
}

/** @param clock measures the parts */
export function createMetrics(clock: Pick<Clock, 'monotonicMs'>): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const searches = new Counter({
    name: 'search402_searches_total',
    help: 'Finished search requests by who paid and by outcome',
    labelNames: ['payer', 'outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'search402_search_seconds',
    help: 'Time from the parsed request to the reply',
    labelNames: ['payer'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const parts = new Histogram({
    name: 'search402_part_seconds',
    help: 'Time that one part took, failures included: search-core, database, rpc, settlement',
    labelNames: ['part'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const rpcCalls = new Counter({
    name: 'search402_rpc_calls_total',
    help: 'JSON-RPC calls to the chain by method',
    labelNames: ['method'],
    registers,
  });
  const tries = new Counter({
    name: 'search402_search_node_tries_total',
    help: 'Searches sent to a search-core by node and by how that ended',
    labelNames: ['node', 'ended'],
    registers,
  });
  return {
    search: (payer, outcome, seconds) => {
      searches.inc({ payer, outcome });
      durations.observe({ payer }, seconds);
    },
    timed:
      (part, work) =>
      async (...given) => {
        const startedMs = clock.monotonicMs();
        try {
          return await work(...given);
        } finally {
          parts.observe({ part }, (clock.monotonicMs() - startedMs) / 1000);
        }
      },
    rpcCall: (method) => rpcCalls.inc({ method }),
    gauge: (name, help, read) => {
      new Gauge({
        name,
        help,
        registers,
        async collect() {
          try {
            this.set(await read());
          } catch {
            this.remove();
          }
        },
      });
    },
    gauges: (name, help, label, read) => {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          try {
            const found = await read();
            this.reset();
            for (const [value, number] of found) this.set({ [label]: value }, number);
          } catch {
            this.reset();
          }
        },
      });
    },
    searchTry: (node, ended) => tries.inc({ node, ended }),
    text: async () => ({ body: await registry.metrics(), contentType: registry.contentType }),
  };
}
