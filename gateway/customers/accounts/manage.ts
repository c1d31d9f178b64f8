import { sql, type Kysely } from 'kysely';
import { ratePerSecond, type Plan } from '../../ground/domain/plan.js';
import type { Clock } from '../../ground/domain/ports.js';
import type { UnixMillis } from '../../ground/domain/units.js';
import type { Keys } from '../keys/keys.js';
import type { Store } from '../../ground/store/store.js';
import type { CreditBalance, Credits } from '../credits/credits.js';
import type { AccountTables } from '../credits/schema.js';

/** An account as its people and the operator see it. */
export interface AccountView {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  /** Searches per second. */
  readonly ratePerSecond: number;
  /** When the agreed plan ends, or has ended. */
  readonly planEndsAt: Date | undefined;
  readonly suspendedAt: Date | undefined;
  readonly suspendedReason: string | undefined;
  readonly createdAt: Date;
  readonly credits: CreditBalance;
}

/** Credits that were added to an account: a receipt where they were paid for. */
export interface Receipt {
  readonly reference: string;
  readonly at: Date;
  readonly credits: number;
  readonly cause: string;
}

/** What an account and the operator agreed on beside the plan's own terms. */
interface Agreement {
  /** Searches per second; the plan's own without one. */
  readonly ratePerSecond?: number | undefined;
  /** When the plan ends, and searches are refused until there is another; never without one. */
  readonly endsAt?: UnixMillis | undefined;
}

/**
 * What the operator, and an Admin within bounds, decides about an account. Every change is seen by
 * the next request of this process, and within KEY_CACHE_MS by others.
 */
export interface Accounts {
  read(accountId: string): Promise<AccountView | undefined>;
  /** Accounts of people in order of their names, `count` of them after `from`; packs are none. */
  list(page: { from: number; count: number }): Promise<readonly AccountView[]>;
  receipts(accountId: string, count: number): Promise<readonly Receipt[]>;
  rename(accountId: string, name: string): Promise<'changed' | 'not-found'>;
  /** Replaces whatever was agreed before. */
  setPlan(accountId: string, plan: Plan, agreed?: Agreement): Promise<'changed' | 'not-found'>;
  suspend(accountId: string, reason: string): Promise<'changed' | 'not-found'>;
  resume(accountId: string): Promise<'changed' | 'not-found'>;
}

type AccountChange = Partial<{
  name: string;
  plan: Plan;
  rate_per_second: number | null;
  plan_ends_at: number | null;
  suspended_at: number | null;
  suspended_reason: string | null;
}>;

interface AccountsParts {
  readonly keys: Pick<Keys, 'forget'>;
  readonly credits: Pick<Credits, 'settle'>;
}

export function openAccounts(
  store: Store,
  clock: Clock,
  { keys, credits }: AccountsParts,
): Accounts {
  const change = async (accountId: string, set: AccountChange) => {
    const changed = await store.write((tx: Kysely<AccountTables>) =>
      tx
        .updateTable('accounts')
        .set(set)
        .where('id', '=', accountId)
        .returning('id')
        .executeTakeFirst(),
    );
    keys.forget();
    return changed ? 'changed' : 'not-found';
  };

  return {
    async read(accountId) {
      await credits.settle(accountId);
      const row = await store.read((db: Kysely<AccountTables>) =>
        accountQuery(db).where('account.id', '=', accountId).executeTakeFirst(),
      );
      return row && viewOf(row);
    },
    async list({ from, count }) {
      const rows = await store.read((db: Kysely<AccountTables>) =>
        accountQuery(db)
          .where('account.holder', '=', sql.lit('people'))
          .orderBy('account.name')
          .orderBy('account.id')
          .limit(count)
          .offset(from)
          .execute(),
      );
      return rows.map(viewOf);
    },
    async receipts(accountId, count) {
      const rows = await store.read((db: Kysely<AccountTables>) =>
        db
          .selectFrom('credit_transfers')
          .select(['id', 'created_at', 'amount', 'cause'])
          .where('account_id', '=', accountId)
          .where('debit', '=', sql.lit('outside'))
          .orderBy('created_at', 'desc')
          .orderBy('id')
          .limit(count)
          .execute(),
      );
      return rows.map(({ id, created_at, amount, cause }) => ({
        reference: id,
        at: new Date(Number(created_at)),
        credits: Number(amount),
        cause,
      }));
    },
    rename: (accountId, name) => change(accountId, { name }),
    setPlan: (accountId, plan, { ratePerSecond: agreed, endsAt } = {}) =>
      change(accountId, { plan, rate_per_second: agreed ?? null, plan_ends_at: endsAt ?? null }),
    suspend: (accountId, reason) =>
      change(accountId, { suspended_at: clock.now(), suspended_reason: reason }),
    resume: (accountId) => change(accountId, { suspended_at: null, suspended_reason: null }),
  };
}

function accountQuery(db: Kysely<AccountTables>) {
  return db
    .selectFrom('accounts as account')
    .innerJoin('credit_balances as balance', 'balance.account_id', 'account.id')
    .select([
      'account.id',
      'account.name',
      'account.plan',
      'account.rate_per_second',
      'account.plan_ends_at',
      'account.suspended_at',
      'account.suspended_reason',
      'account.created_at',
      'balance.granted',
      'balance.available',
      'balance.held',
      'balance.spent',
    ]);
}

type Row = NonNullable<Awaited<ReturnType<ReturnType<typeof accountQuery>['executeTakeFirst']>>>;

function viewOf(row: Row): AccountView {
  const agreed = row.rate_per_second === null ? null : Number(row.rate_per_second);
  return {
    id: row.id,
    name: row.name,
    plan: row.plan,
    ratePerSecond: ratePerSecond(row.plan, agreed),
    planEndsAt: dateOf(row.plan_ends_at),
    suspendedAt: dateOf(row.suspended_at),
    suspendedReason: row.suspended_reason ?? undefined,
    createdAt: new Date(Number(row.created_at)),
    credits: {
      granted: Number(row.granted),
      available: Number(row.available),
      held: Number(row.held),
      spent: Number(row.spent),
    },
  };
}

function dateOf(at: bigint | null): Date | undefined {
  return at === null ? undefined : new Date(Number(at));
}
