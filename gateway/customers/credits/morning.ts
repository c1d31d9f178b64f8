import { sql, type Kysely } from 'kysely';
import type { Store } from '../../ground/store/store.js';
import type { AccountTables } from './schema.js';

/** What is read here of the books of payments and channels; they alone write them. */
interface MoneyTables extends AccountTables {
  payments: {
    request_id: string;
    /** Atomic USDC, as decimal text. */
    value: string;
    settled_at: bigint | null;
    /** Set where the payment went into a channel: it is not earned yet. */
    deposit: string | null;
  };
  packs: { request_id: string };
  channel_vouchers: { price: bigint; charged_at: bigint | null };
  transactions: {
    mined_at: bigint | null;
    gas_used: string | null;
    /** Wei for one unit of gas. */
    gas_price: string | null;
    /** Wei for publishing on the layer below. */
    publishing_fee: string | null;
  };
}

/** One day (UTC) of money: what came in by way of paying, in atomic USDC, and what moving it cost. */
export interface MoneyDay {
  /** Days since the Unix epoch. */
  readonly day: number;
  /** Searches that were paid one by one. */
  readonly single: bigint;
  /** Top-ups and packs. */
  readonly credits: bigint;
  /** Searches that were charged to channels. */
  readonly channels: bigint;
  /** With the fee for publishing, to within 1,000 wei for each transaction. */
  readonly gasWei: bigint;
}

/** What is owed: searches that were sold or given and not made yet. */
export interface OwedSearches {
  readonly onAccounts: number;
  readonly onPacks: number;
}

const DAY_MS = 24 * 3600 * 1000;
/** Costs are added up in units of 1,000 wei: a day of them fits a 64-bit integer. */
const WEI_PER_UNIT = 1000n;

const dayOf = (column: string) => sql<bigint>`${sql.ref(column)} / ${sql.lit(DAY_MS)}`;
const sumOf = (amount: string, condition: string) =>
  sql<bigint>`cast(coalesce(sum(case when ${sql.raw(condition)} then ${sql.raw(amount)} else 0 end), 0) as bigint)`;

/** What was earned and spent on each day since `from`; days without either are left out. */
export async function moneyByDay(store: Store, from: Date): Promise<readonly MoneyDay[]> {
  const since = BigInt(from.getTime());
  const [paid, charged, moved] = await store.read((db: Kysely<MoneyTables>) =>
    Promise.all([
      db
        .selectFrom('payments')
        .leftJoin('top_ups', 'top_ups.request_id', 'payments.request_id')
        .leftJoin('packs', 'packs.request_id', 'payments.request_id')
        .select([
          dayOf('settled_at').as('day'),
          sumOf(
            'cast(value as bigint)',
            'top_ups.request_id is null and packs.request_id is null',
          ).as('single'),
          sumOf(
            'cast(value as bigint)',
            'top_ups.request_id is not null or packs.request_id is not null',
          ).as('credits'),
        ])
        .where('settled_at', '>=', since)
        .where('deposit', 'is', null)
        .groupBy(dayOf('settled_at'))
        .execute(),
      db
        .selectFrom('channel_vouchers')
        .select([dayOf('charged_at').as('day'), sumOf('price', '1 = 1').as('channels')])
        .where('charged_at', '>=', since)
        .groupBy(dayOf('charged_at'))
        .execute(),
      db
        .selectFrom('transactions')
        .select([
          dayOf('mined_at').as('day'),
          sumOf(COST_UNITS, 'gas_used is not null').as('units'),
        ])
        .where('mined_at', '>=', since)
        .groupBy(dayOf('mined_at'))
        .execute(),
    ]),
  );
  const of = <Row extends { day: bigint }>(rows: readonly Row[]) => {
    const byDay = new Map(rows.map((row) => [Number(row.day), row]));
    return (day: number) => byDay.get(day);
  };
  const [paidOn, chargedOn, movedOn] = [of(paid), of(charged), of(moved)];
  const days = new Set([...paid, ...charged, ...moved].map(({ day }) => Number(day)));
  return [...days]
    .sort((one, other) => one - other)
    .map((day) => ({
      day,
      single: BigInt(paidOn(day)?.single ?? 0),
      credits: BigInt(paidOn(day)?.credits ?? 0),
      channels: BigInt(chargedOn(day)?.channels ?? 0),
      gasWei: BigInt(movedOn(day)?.units ?? 0) * WEI_PER_UNIT,
    }));
}

const COST_UNITS = `(cast(gas_used as bigint) * cast(gas_price as bigint)
  + cast(coalesce(publishing_fee, '0') as bigint)) / ${WEI_PER_UNIT}`;

/** Searches that are owed to people's accounts and to holders of packs. */
export async function owedSearches(store: Store): Promise<OwedSearches> {
  const rows = await store.read((db: Kysely<AccountTables>) =>
    db
      .selectFrom('credit_balances as balance')
      .innerJoin('accounts as account', 'account.id', 'balance.account_id')
      .select([
        'account.holder',
        sql<bigint>`cast(sum(balance.available + balance.held) as bigint)`.as('owed'),
      ])
      .groupBy('account.holder')
      .execute(),
  );
  const of = (holder: string) => Number(rows.find((row) => row.holder === holder)?.owed ?? 0);
  return { onAccounts: of('people'), onPacks: of('wallet') };
}

/** Accounts of people that were opened on each day (days since the Unix epoch) since `from`. */
export async function signUpsByDay(store: Store, from: Date): Promise<ReadonlyMap<number, number>> {
  const day = sql<bigint>`created_at / ${sql.lit(DAY_MS)}`;
  const rows = await store.read((db: Kysely<AccountTables>) =>
    db
      .selectFrom('accounts')
      .select([day.as('day'), ({ fn }) => fn.countAll<bigint>().as('count')])
      .where('holder', '=', sql.lit('people'))
      .where('created_at', '>=', BigInt(from.getTime()))
      .groupBy(day)
      .execute(),
  );
  return new Map(rows.map((row) => [Number(row.day), Number(row.count)]));
}
