import type { Kysely } from 'kysely';
import type { RefusalCode } from '../../ground/domain/refusal.js';
import type { Clock, Log } from '../../ground/domain/ports.js';
import { StoreUnavailable, type Store } from '../../ground/store/store.js';
import { inChunks } from '../credits/chunks.js';
import type { UsageTables } from './schema.js';

/** One search of an account, whatever became of it. */
interface UsageEvent {
  readonly requestId: string;
  readonly accountId: string;
  /** The key, or the connection of a tool client, with whoever made it. */
  readonly key: { readonly id: string; readonly name: string; readonly createdBy: string | null };
  readonly outcome: 'ok' | RefusalCode;
  /** Milliseconds from the request's arrival to its reply. */
  readonly latencyMs: number;
  /** 1 when a credit was spent. */
  readonly credits: 0 | 1;
  /** Absent where the body was refused before a query was known. */
  readonly request?: {
    readonly query: string;
    readonly maxResults: number;
    readonly maxDescriptionLength: number;
  };
  readonly resultCount?: number;
}

/**
 * Counts searches in memory and writes them together. What a killed process had not written yet
 * is missing from the counts, at the most the second before; credits do not depend on them.
 */
export interface UsageRecorder {
  record(event: UsageEvent): void;
  /** Writes what was recorded: called every second, and at the end. */
  flush(): Promise<void>;
  /** Deletes requests that were kept long enough: called every few minutes. */
  prune(): Promise<void>;
}

/** Upper bounds, in milliseconds, of the classes in which latencies are counted. */
const LATENCY_CLASSES_MS = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 60_000] as const;
/** How long single requests can be looked at: seven days. */
const REQUESTS_KEPT_MS = 7 * 24 * 3600 * 1000;
const HOUR_MS = 3600 * 1000;
/** Requests remembered between two flushes; further ones are counted but not kept. */
const REQUESTS_BUFFERED_MAX = 5000;
/** Different counters between two flushes; the next one is flushed together with a later batch. */
const COUNTERS_MAX = 20_000;

interface Counter {
  readonly account_id: string;
  readonly hour: number;
  readonly key_id: string;
  readonly outcome: string;
  readonly latency_ms: number;
  searches: number;
  credits: number;
}

interface KeptRequest {
  readonly event: UsageEvent;
  readonly at: number;
}

export function usageRecorder(
  { store, clock, log }: { readonly store: Store; readonly clock: Clock; readonly log: Log },
  { keepsRequests }: { readonly keepsRequests: boolean },
): UsageRecorder {
  let counters = new Map<string, Counter>();
  let requests: KeptRequest[] = [];

  /** Writes single requests; one that cannot be written is left out, and the others are not. */
  const keep = async (kept: readonly KeptRequest[]): Promise<void> => {
    if (kept.length === 0) return;
    try {
      await store.write((tx: Kysely<UsageTables>) => addRequests(tx, kept));
    } catch (error) {
      if (kept.length === 1 || error instanceof StoreUnavailable) {
        log.warn({ err: error, requests: kept.length }, 'requests could not be written');
        return;
      }
      const middle = Math.ceil(kept.length / 2);
      await keep(kept.slice(0, middle));
      await keep(kept.slice(middle));
    }
  };

  return {
    record(event) {
      const at = clock.now();
      count(counters, event, at);
      if (keepsRequests && requests.length < REQUESTS_BUFFERED_MAX) requests.push({ event, at });
    },
    async flush() {
      if (counters.size === 0) return;
      const [counted, kept] = [counters, requests];
      counters = new Map();
      requests = [];
      try {
        await store.write((tx: Kysely<UsageTables>) => addCounters(tx, [...counted.values()]));
      } catch (error) {
        log.warn({ err: error }, 'usage could not be written; it is tried again');
        for (const [name, counter] of counted) addBack(counters, name, counter);
        return;
      }
      await keep(kept);
    },
    async prune() {
      const before = BigInt(clock.now() - REQUESTS_KEPT_MS);
      await store.write((tx: Kysely<UsageTables>) =>
        tx.deleteFrom('requests').where('at', '<', before).execute(),
      );
    },
  };
}

function count(counters: Map<string, Counter>, event: UsageEvent, at: number): void {
  const counter: Counter = {
    account_id: event.accountId,
    hour: Math.floor(at / HOUR_MS),
    key_id: event.key.id,
    outcome: event.outcome,
    latency_ms: latencyClass(event.latencyMs),
    searches: 1,
    credits: event.credits,
  };
  const { account_id, hour, key_id, outcome, latency_ms } = counter;
  addBack(counters, `${account_id} ${hour} ${key_id} ${outcome} ${latency_ms}`, counter);
}

function addBack(counters: Map<string, Counter>, name: string, counter: Counter): void {
  const known = counters.get(name);
  if (known) {
    known.searches += counter.searches;
    known.credits += counter.credits;
  } else if (counters.size < COUNTERS_MAX) counters.set(name, counter);
}

function latencyClass(latencyMs: number): number {
  return LATENCY_CLASSES_MS.find((bound) => latencyMs <= bound) ?? 60_000;
}

async function addCounters(tx: Kysely<UsageTables>, counters: readonly Counter[]): Promise<void> {
  for (const counter of counters) await addCounter(tx, counter);
}

async function addRequests(tx: Kysely<UsageTables>, kept: readonly KeptRequest[]): Promise<void> {
  for (const chunk of inChunks(callersOf(kept))) {
    await tx
      .insertInto('usage_callers')
      .values([...chunk])
      .onConflict((conflict) => conflict.columns(['account_id', 'key_id']).doNothing())
      .execute();
  }
  for (const chunk of inChunks(kept.map(rowOf))) {
    await tx
      .insertInto('requests')
      .values([...chunk])
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
  }
}

async function addCounter(tx: Kysely<UsageTables>, counter: Counter): Promise<void> {
  await tx
    .insertInto('usage_hours')
    .values(counter)
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'hour', 'key_id', 'outcome', 'latency_ms'])
        .doUpdateSet((set) => ({
          searches: set('usage_hours.searches', '+', BigInt(counter.searches)),
          credits: set('usage_hours.credits', '+', BigInt(counter.credits)),
        })),
    )
    .execute();
}

/** Whoever searched, once each. */
function callersOf(kept: readonly KeptRequest[]) {
  const callers = kept.map(({ event: { accountId, key } }) => ({
    account_id: accountId,
    key_id: key.id,
    name: key.name,
    person_id: key.createdBy,
  }));
  return [...new Map(callers.map((one) => [`${one.account_id} ${one.key_id}`, one])).values()];
}

/** PostgreSQL's text holds every character but NUL, which a query may have: it shows as U+FFFD. */
const storable = (text: string): string => text.replaceAll('\u0000', '\uFFFD');

function rowOf({ event, at }: KeptRequest) {
  const { request } = event;
  return {
    id: event.requestId,
    account_id: event.accountId,
    key_id: event.key.id,
    at,
    query: storable(request?.query ?? ''),
    max_results: request?.maxResults ?? 0,
    max_description_length: request?.maxDescriptionLength ?? 0,
    outcome: event.outcome,
    results: event.resultCount ?? 0,
    latency_ms: Math.round(event.latencyMs),
    credits: event.credits,
  };
}
