import { sql, type Kysely } from 'kysely';
import type { Clock, Random } from '../../ground/domain/ports.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import type { Caller } from '../keys/caller.js';
import type { Store } from '../../ground/store/store.js';
import type { Wanted } from './account-lease.js';
import type { CreditHold } from './hold.js';
import { openLeases } from './leases.js';
import { monthOf } from './month.js';
import { releaseOldHolds } from './old-holds.js';
import type { AccountTables } from './schema.js';

/** Where an account's credits are. granted = available + held + spent, always. */
export interface CreditBalance {
  readonly granted: number;
  readonly available: number;
  readonly held: number;
  readonly spent: number;
}

/** Why credits were added. `top-up` and `pack` were paid for; the others were given. */
export type GrantCause = 'sign-up' | 'top-up' | 'pack' | 'operator' | 'development';

/**
 * Credits: one is held before a search, spent when it answered 200, and released otherwise. Each
 * gateway holds them out of its own lease, in memory; `turn` writes down what was spent. So a
 * gateway that is killed leaves at most the last second of an account's searches uncharged, and
 * charges none twice.
 */
export interface Credits {
  /**
   * Holds one credit. Between any number of callers and gateways on one database, as many holds
   * succeed as there are credits, and no more. Refuses with `insufficient_credits`, with
   * `plan_restricted` once a plan that was agreed for a time has ended, and with
   * `service_unavailable` while it cannot be told what another gateway has left.
   *
   * @throws StoreUnavailable when the database is needed and does not answer; nothing is held then.
   */
  hold(caller: Caller, requestId: string): Promise<CreditHold | Refusal>;
  /** `closed` when it was spent or released before. */
  spend(hold: CreditHold): Promise<'spent' | 'closed'>;
  /** Gives the credit back; once more does nothing. */
  release(hold: CreditHold): Promise<void>;
  /**
   * Adds credits once for each `reference`; again with the same reference adds nothing.
   * `foreign` when the reference belongs to another account's grant.
   */
  grant(
    accountId: string,
    amount: number,
    cause: GrantCause,
    reference: string,
  ): Promise<'granted' | 'granted-before' | 'foreign'>;
  /** Where an account stands, with everything booked that this gateway has answered. */
  balance(accountId: string): Promise<CreditBalance | undefined>;
  /** Books what this gateway has answered for an account, so that whoever reads the books sees it. */
  settle(accountId: string): Promise<void>;
  /** Books what was spent and resizes the leases: every TURN_MS. */
  turn(): Promise<void>;
  /** Gives back what dead processes held: at start, and every few seconds. Returns how many. */
  releaseLapsed(): Promise<number>;
  /**
   * Recomputes every balance from the transfers and leases and returns the accounts where the two
   * disagree or do not add up. Empty, or the books are wrong.
   */
  reconcile(): Promise<readonly string[]>;
  /** Books everything and gives every lease back: the last thing that a gateway does here. */
  close(): Promise<void>;
}

/** How often `turn` is called, in milliseconds. */
export const TURN_MS = 250;

export function openCredits(store: Store, clock: Clock, random: Pick<Random, 'uuid'>): Credits {
  const leases = openLeases({ store, clock, gateway: random.uuid() });
  const open = new WeakMap<CreditHold, Wanted>();

  return {
    async hold(caller, requestId) {
      const { planEndsAt, id: accountId } = caller.account;
      if (planEndsAt !== undefined && planEndsAt <= clock.now()) return planEnded(planEndsAt);
      const { id: keyId, monthlyBudget } = caller.key;
      const budget =
        monthlyBudget === null
          ? undefined
          : { month: monthOf(clock.now()), credits: monthlyBudget };
      const wanted: Wanted = { accountId, keyId, budget };
      const taken = await leases.take(wanted);
      if (taken !== 'taken') return LACKS[taken](monthlyBudget ?? 0);
      const hold: CreditHold = { kind: 'held', requestId, accountId };
      open.set(hold, wanted);
      return hold;
    },
    spend(hold) {
      const wanted = open.get(hold);
      if (!wanted) return Promise.resolve('closed');
      open.delete(hold);
      leases.spend(wanted);
      return Promise.resolve('spent');
    },
    release(hold) {
      const wanted = open.get(hold);
      open.delete(hold);
      if (wanted) leases.giveBack(wanted);
      return Promise.resolve();
    },
    grant: (accountId, amount, cause, reference) =>
      store.write((tx: Kysely<AccountTables>) =>
        grantCredits(tx, { accountId, amount, cause, reference, now: clock.now() }),
      ),
    async balance(accountId) {
      await leases.settle(accountId);
      const row = await store.read((db: Kysely<AccountTables>) =>
        db
          .selectFrom('credit_balances')
          .selectAll()
          .where('account_id', '=', accountId)
          .executeTakeFirst(),
      );
      if (!row) return undefined;
      const { granted, available, held, spent } = row;
      return {
        granted: Number(granted),
        available: Number(available),
        held: Number(held),
        spent: Number(spent),
      };
    },
    settle: (accountId) => leases.settle(accountId),
    turn: () => leases.turn(),
    async releaseLapsed() {
      const old = await store.write((tx: Kysely<AccountTables>) =>
        releaseOldHolds(tx, clock.now()),
      );
      return old + (await leases.returnLapsed());
    },
    reconcile: () => store.read(reconcile),
    close: () => leases.close(),
  };
}

/** Why there is no credit for a search, by what its lease says. */
const LACKS = {
  'no-credits': () =>
    refuse(
      'insufficient_credits',
      'This account has no credits left. Add credits in the console under Billing or with ' +
        'POST /account/credits, or send the search without a key and pay for it alone.',
    ),
  'over-budget': (budget: number) =>
    refuse(
      'insufficient_credits',
      `This key has used up its budget of ${budget} ${budget === 1 ? 'credit' : 'credits'} for this month. ` +
        'Raise its budget in the console under Keys, or use another key.',
    ),
  'not-known-yet': () =>
    refuse(
      'service_unavailable',
      'Another server holds the last credits of this account. Send the same request again shortly.',
      { retryAfterSeconds: 1 },
    ),
} as const;

function planEnded(endedAt: number): Refusal {
  return refuse(
    'plan_restricted',
    `The plan agreed for this account ended on ${new Date(endedAt).toISOString().slice(0, 10)}. An ` +
      'Admin can change to another plan in the console under Billing, or have it renewed by the ' +
      'operator of this service.',
  );
}

/** Adds credits inside the caller's transaction: see `Credits.grant`. */
export async function grantCredits(
  tx: Kysely<AccountTables>,
  grant: { accountId: string; amount: number; cause: GrantCause; reference: string; now: number },
): Promise<'granted' | 'granted-before' | 'foreign'> {
  const { accountId, amount, cause, reference, now } = grant;
  const inserted = await tx
    .insertInto('credit_transfers')
    .values({
      id: reference,
      account_id: accountId,
      key_id: null,
      debit: 'outside',
      credit: 'available',
      amount,
      cause,
      created_at: now,
      posted_at: now,
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .execute();
  if (inserted.length === 0) {
    const { account_id: owner } = await tx
      .selectFrom('credit_transfers')
      .select('account_id')
      .where('id', '=', reference)
      .executeTakeFirstOrThrow();
    return owner === accountId ? 'granted-before' : 'foreign';
  }
  await tx
    .insertInto('credit_balances')
    .values({ account_id: accountId, granted: amount, available: amount, held: 0, spent: 0 })
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet((set) => ({
        granted: set('credit_balances.granted', '+', BigInt(amount)),
        available: set('credit_balances.available', '+', BigInt(amount)),
      })),
    )
    .execute();
  return 'granted';
}

async function reconcile(db: Kysely<AccountTables>): Promise<readonly string[]> {
  const sum = (condition: string, column = 'amount') =>
    sql<bigint>`cast(coalesce(sum(case when ${sql.raw(condition)} then ${sql.ref(column)} else 0 end), 0) as bigint)`;
  const granted = `debit = 'outside'`;
  const search = `debit = 'available' and credit = 'spent'`;
  const booked = await db
    .selectFrom('credit_balances as balance')
    .leftJoin(
      (query) =>
        query
          .selectFrom('credit_transfers')
          .select([
            'account_id',
            sum(granted).as('granted'),
            sum(`${search} and posted_at is null and voided_at is null`).as('held'),
            sum(`${search} and posted_at is not null`).as('spent'),
          ])
          .groupBy('account_id')
          .as('moved'),
      (join) => join.onRef('moved.account_id', '=', 'balance.account_id'),
    )
    .leftJoin(
      (query) =>
        query
          .selectFrom('credit_leases')
          .select(['account_id', sum(`key_id = ''`, 'units').as('leased')])
          .groupBy('account_id')
          .as('lease'),
      (join) => join.onRef('lease.account_id', '=', 'balance.account_id'),
    )
    .select([
      'balance.account_id',
      'balance.granted',
      'balance.available',
      'balance.held',
      'balance.spent',
      'moved.granted as moved_granted',
      'moved.held as moved_held',
      'moved.spent as moved_spent',
      'lease.leased',
    ])
    .execute();
  return booked
    .filter(
      (row) =>
        row.granted !== (row.moved_granted ?? 0n) ||
        row.held !== (row.moved_held ?? 0n) + (row.leased ?? 0n) ||
        row.spent !== (row.moved_spent ?? 0n) ||
        row.granted !== row.available + row.held + row.spent,
    )
    .map((row) => row.account_id);
}
