import { sql, type Kysely } from 'kysely';
import type { Store } from '../../ground/store/store.js';
import type { KeyTables } from '../keys/schema.js';
import { percentilesOf, type Percentiles } from './percentiles.js';
import type { UsageTables } from './schema.js';

type Tables = UsageTables & KeyTables;

/** From the hour of `from` until before `to`. */
export interface Range {
  readonly from: Date;
  readonly to: Date;
}

/** Searches of one key on one day. */
export interface KeyDay {
  readonly keyId: string;
  /** Days since the Unix epoch (UTC). */
  readonly day: number;
  readonly searches: number;
}

/** A query and how often it was asked. */
export interface QueryCount {
  readonly query: string;
  readonly searches: number;
  readonly lastAt: Date;
}

/** What the console's pages show beyond plain counts. */
export interface UsageInsight {
  keyDays(accountId: string, range: Range): Promise<readonly KeyDay[]>;
  /** Credits that each key has spent in the calendar month (UTC) of `now`, until a second ago. */
  usedThisMonth(accountId: string, now: number): Promise<ReadonlyMap<string, number>>;
  /** How long searches took: of one account, or of all where `accountId` is left out. */
  percentiles(range: Range, accountId?: string): Promise<Percentiles | undefined>;
  /** Searches of all accounts by day and whether they were answered. */
  daysOfAll(range: Range): Promise<readonly { day: number; answered: number; refused: number }[]>;
  /** Refused searches of all accounts by code, the most frequent first. */
  refusals(range: Range): Promise<readonly { code: string; searches: number }[]>;
  /** What accounts asked most in the days for which requests are kept. */
  topQueries(kind: 'all' | 'without results', count: number): Promise<readonly QueryCount[]>;
  /** Whether a tool client that signed in has searched on the account. */
  hasToolClient(accountId: string): Promise<boolean>;
}

const HOUR_MS = 3600 * 1000;
const ROWS_MAX = 50_000;

const sumOf = (condition: string) =>
  sql<bigint>`cast(coalesce(sum(case when ${sql.raw(condition)} then searches else 0 end), 0) as bigint)`;

export function usageInsight(store: Store): UsageInsight {
  const hours = (db: Kysely<Tables>, { from, to }: Range) =>
    db
      .selectFrom('usage_hours')
      .where('hour', '>=', BigInt(Math.floor(from.getTime() / HOUR_MS)))
      .where('hour', '<', BigInt(Math.ceil(to.getTime() / HOUR_MS)));

  return {
    async keyDays(accountId, range) {
      const day = sql<bigint>`hour / 24`;
      const rows = await store.read((db: Kysely<Tables>) =>
        hours(db, range)
          .select(['key_id', day.as('day'), sumOf('1 = 1').as('searches')])
          .where('account_id', '=', accountId)
          .groupBy(['key_id', day])
          .limit(ROWS_MAX)
          .execute(),
      );
      return rows.map(({ key_id, day: at, searches }) => ({
        keyId: key_id,
        day: Number(at),
        searches: Number(searches),
      }));
    },
    async usedThisMonth(accountId, now) {
      const today = new Date(now);
      const from = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), 1));
      const rows = await store.read((db: Kysely<Tables>) =>
        hours(db, { from, to: new Date(now + 1) })
          .select(['key_id', sql<bigint>`cast(sum(credits) as bigint)`.as('used')])
          .where('account_id', '=', accountId)
          .groupBy('key_id')
          .limit(ROWS_MAX)
          .execute(),
      );
      return new Map(rows.map(({ key_id, used }) => [key_id, Number(used)]));
    },
    async percentiles(range, accountId) {
      const rows = await store.read((db: Kysely<Tables>) => {
        const answered = hours(db, range).where('outcome', '=', 'ok');
        return (accountId === undefined ? answered : answered.where('account_id', '=', accountId))
          .select(['latency_ms', sumOf('1 = 1').as('searches')])
          .groupBy('latency_ms')
          .orderBy('latency_ms')
          .execute();
      });
      return percentilesOf(
        rows.map(({ latency_ms, searches }) => ({
          boundMs: Number(latency_ms),
          searches: Number(searches),
        })),
      );
    },
    async daysOfAll(range) {
      const day = sql<bigint>`hour / 24`;
      const rows = await store.read((db: Kysely<Tables>) =>
        hours(db, range)
          .select([
            day.as('day'),
            sumOf(`outcome = 'ok'`).as('answered'),
            sumOf(`outcome <> 'ok'`).as('refused'),
          ])
          .groupBy(day)
          .execute(),
      );
      return rows.map((row) => ({
        day: Number(row.day),
        answered: Number(row.answered),
        refused: Number(row.refused),
      }));
    },
    async refusals(range) {
      const rows = await store.read((db: Kysely<Tables>) =>
        hours(db, range)
          .select(['outcome', sumOf('1 = 1').as('searches')])
          .where('outcome', '<>', 'ok')
          .groupBy('outcome')
          .orderBy(sql`searches desc`)
          .execute(),
      );
      return rows.map(({ outcome, searches }) => ({ code: outcome, searches: Number(searches) }));
    },
    async topQueries(kind, count) {
      const rows = await store.read((db: Kysely<Tables>) => {
        const asked = db
          .selectFrom('requests')
          .where('outcome', '=', 'ok')
          .select(({ fn }) => [
            'query',
            fn.countAll<bigint>().as('searches'),
            fn.max<bigint>('at').as('last_at'),
          ]);
        return (kind === 'all' ? asked : asked.where('results', '=', 0n))
          .groupBy('query')
          .orderBy(sql`count(*) desc`)
          .orderBy('query')
          .limit(count)
          .execute();
      });
      return rows.map(({ query, searches, last_at }) => ({
        query,
        searches: Number(searches),
        lastAt: new Date(Number(last_at)),
      }));
    },
    async hasToolClient(accountId) {
      const row = await store.read((db: Kysely<Tables>) =>
        db
          .selectFrom('usage_callers')
          .leftJoin('api_keys', 'api_keys.id', 'usage_callers.key_id')
          .select('usage_callers.key_id')
          .where('usage_callers.account_id', '=', accountId)
          .where('api_keys.id', 'is', null)
          .where('usage_callers.key_id', 'like', 'oauth:%')
          .executeTakeFirst(),
      );
      return row !== undefined;
    },
  };
}
