import { sql, type Kysely } from 'kysely';
import type { KeyTables } from '../keys/schema.js';
import type { Store } from '../../ground/store/store.js';
import type { PeopleTables } from '../people/schema.js';
import type { UsageTables } from './schema.js';

type Tables = UsageTables & KeyTables & PeopleTables;

/** By what usage can be broken down. */
export const USAGE_DIMENSIONS = ['hour', 'day', 'key', 'member', 'outcome', 'latency'] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

/** Usage of one hour, day, key, member, outcome or latency class. */
export interface UsageRow {
  /** The start of the hour or day (ISO 8601), a name, an outcome, or `<= 100 ms`. */
  readonly name: string;
  readonly searches: number;
  /** Searches that did not answer 200; they cost nothing. */
  readonly refused: number;
  readonly credits: number;
}

/** One search as the request inspector shows it. */
export interface InspectedRequest {
  readonly id: string;
  readonly at: Date;
  readonly keyName: string;
  readonly query: string;
  readonly maxResults: number;
  readonly maxDescriptionLength: number;
  readonly outcome: string;
  readonly results: number;
  readonly latencyMs: number;
  readonly credits: number;
}

export interface UsageReport {
  /**
   * Usage of an account in the hours from `from` until before `to`, at most ROWS_MAX rows: hours
   * and days in order, everything else the most used first.
   */
  read(
    accountId: string,
    range: { from: Date; to: Date },
    by: UsageDimension,
    filter?: UsageFilter,
  ): Promise<readonly UsageRow[]>;
  /** A request of this account; another account's is not found. */
  inspect(accountId: string, requestId: string): Promise<InspectedRequest | undefined>;
  /** Requests of an account that pass the filter, newest first. */
  requests(accountId: string, filter: RequestFilter): Promise<readonly InspectedRequest[]>;
}

/** Which requests to show; what is left out is not asked about. */
export interface RequestFilter {
  readonly count: number;
  /** How many newer ones to leave out. */
  readonly offset?: number;
  /** A code of the closed list, `ok`, or every refusal. */
  readonly outcome?: string;
  readonly keyId?: string;
  /** Answered, and nothing was found. */
  readonly isEmpty?: boolean;
  readonly slowerThanMs?: number;
  /** Words of the query, in any letter case. */
  readonly text?: string;
}

/** Which of an account's searches to count: of one key, or of one member's keys. */
export interface UsageFilter {
  readonly keyId?: string;
  readonly personId?: string;
}

const ROWS_MAX = 10_000;
const HOUR_MS = 3600 * 1000;

/** What a row is grouped by, in SQL that both engines understand. */
const GROUPS = {
  hour: sql<bigint | string>`hour`,
  day: sql<bigint | string>`hour / 24`,
  key: sql<bigint | string>`usage_hours.key_id`,
  member: sql<bigint | string>`coalesce(api_keys.created_by, usage_callers.person_id, '')`,
  outcome: sql<bigint | string>`outcome`,
  latency: sql<bigint | string>`latency_ms`,
} as const;

export function usageReport(store: Store): UsageReport {
  return {
    async read(accountId, { from, to }, by, filter = {}) {
      const group = GROUPS[by];
      const rows = await store.read((db: Kysely<Tables>) => {
        const counted = db
          .selectFrom('usage_hours')
          .leftJoin('api_keys', 'api_keys.id', 'usage_hours.key_id')
          .leftJoin('usage_callers', (join) =>
            join
              .onRef('usage_callers.account_id', '=', 'usage_hours.account_id')
              .onRef('usage_callers.key_id', '=', 'usage_hours.key_id'),
          )
          .select([
            group.as('name'),
            sql<bigint>`cast(sum(searches) as bigint)`.as('searches'),
            sql<bigint>`cast(sum(case when outcome = 'ok' then 0 else searches end) as bigint)`.as(
              'refused',
            ),
            sql<bigint>`cast(sum(credits) as bigint)`.as('credits'),
          ])
          .where('usage_hours.account_id', '=', accountId)
          .where('hour', '>=', BigInt(Math.floor(from.getTime() / HOUR_MS)))
          .where('hour', '<', BigInt(Math.ceil(to.getTime() / HOUR_MS)));
        const { keyId, personId } = filter;
        const ofKey =
          keyId === undefined ? counted : counted.where('usage_hours.key_id', '=', keyId);
        return (personId === undefined ? ofKey : ofKey.where(GROUPS.member, '=', personId))
          .groupBy(group)
          .orderBy(by === 'hour' || by === 'day' || by === 'latency' ? group : sql`searches desc`)
          .limit(ROWS_MAX)
          .execute();
      });
      const names = await namesOf(store, accountId, by);
      return rows.map(({ name, searches, refused, credits }) => ({
        name: names(name),
        searches: Number(searches),
        refused: Number(refused),
        credits: Number(credits),
      }));
    },
    async inspect(accountId, requestId) {
      const [row] = await readRequests(store, accountId, { requestId, count: 1 });
      return row;
    },
    requests: (accountId, filter) => readRequests(store, accountId, filter),
  };
}

async function readRequests(
  store: Store,
  accountId: string,
  filter: RequestFilter & { readonly requestId?: string },
): Promise<readonly InspectedRequest[]> {
  const rows = await store.read((db: Kysely<Tables>) => {
    const query = db
      .selectFrom('requests')
      .leftJoin('api_keys', 'api_keys.id', 'requests.key_id')
      .leftJoin('usage_callers', (join) =>
        join
          .onRef('usage_callers.account_id', '=', 'requests.account_id')
          .onRef('usage_callers.key_id', '=', 'requests.key_id'),
      )
      .selectAll('requests')
      .select(sql<string | null>`coalesce(api_keys.name, usage_callers.name)`.as('key_name'))
      .where('requests.account_id', '=', accountId);
    return query
      .where((row) => row.and(conditionsOf(filter)))
      .orderBy('at', 'desc')
      .orderBy('requests.id')
      .limit(filter.count)
      .offset(filter.offset ?? 0)
      .execute();
  });
  return rows.map((row) => ({
    id: row.id,
    at: new Date(Number(row.at)),
    keyName: row.key_name ?? '',
    query: row.query,
    maxResults: Number(row.max_results),
    maxDescriptionLength: Number(row.max_description_length),
    outcome: row.outcome,
    results: Number(row.results),
    latencyMs: Number(row.latency_ms),
    credits: Number(row.credits),
  }));
}

/** What a request must be to pass the filter, in SQL that both engines understand. */
function conditionsOf(filter: RequestFilter & { readonly requestId?: string }) {
  const { requestId, outcome, keyId, isEmpty, slowerThanMs, text } = filter;
  const conditions = [
    requestId !== undefined && sql<boolean>`requests.id = ${requestId}`,
    outcome === 'refused' && sql<boolean>`outcome <> 'ok'`,
    outcome !== undefined && outcome !== 'refused' && sql<boolean>`outcome = ${outcome}`,
    keyId !== undefined && sql<boolean>`requests.key_id = ${keyId}`,
    isEmpty === true && sql<boolean>`outcome = 'ok' and results = 0`,
    slowerThanMs !== undefined && sql<boolean>`latency_ms > ${slowerThanMs}`,
    text !== undefined && sql<boolean>`lower(query) like ${like(text)} escape '!'`,
  ];
  return conditions.filter((one) => one !== false);
}

/** A pattern that holds wherever the text stands, whatever signs it has. */
const like = (text: string): string => `%${text.toLowerCase().replace(/[!%_]/g, '!$&')}%`;

/** Turns what was grouped by into what a person reads. */
async function namesOf(
  store: Store,
  accountId: string,
  by: UsageDimension,
): Promise<(value: bigint | string) => string> {
  switch (by) {
    case 'hour':
      return (hour) => new Date(Number(hour) * HOUR_MS).toISOString();
    case 'day':
      return (day) => new Date(Number(day) * 24 * HOUR_MS).toISOString().slice(0, 10);
    case 'latency':
      return (bound) => `<= ${bound} ms`;
    case 'outcome':
      return String;
    case 'key': {
      const rows = await store.read((db: Kysely<Tables>) =>
        db
          .selectFrom('usage_callers')
          .leftJoin('api_keys', 'api_keys.id', 'usage_callers.key_id')
          .select([
            'usage_callers.key_id as id',
            sql<string>`coalesce(api_keys.name, usage_callers.name)`.as('name'),
          ])
          .where('usage_callers.account_id', '=', accountId)
          .execute(),
      );
      const names = new Map(rows.map(({ id, name }) => [id, name]));
      return (id) => names.get(String(id)) ?? String(id);
    }
    case 'member': {
      const rows = await store.read((db: Kysely<Tables>) =>
        db
          .selectFrom('people')
          .innerJoin('usage_callers', 'usage_callers.person_id', 'people.id')
          .select(['people.id', 'people.name'])
          .distinct()
          .where('usage_callers.account_id', '=', accountId)
          .execute(),
      );
      const names = new Map(rows.map(({ id, name }) => [id, name]));
      return (id) => (id === '' ? 'operator' : (names.get(String(id)) ?? String(id)));
    }
  }
}
