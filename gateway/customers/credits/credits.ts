import { sql, type Kysely } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import type { Caller } from '../keys/caller.js';
import type { Store } from '../../ground/store/store.js';
import { Batcher } from '../../ground/domain/batcher.js';
import type { CreditHold } from './hold.js';
import {
  monthOf,
  moveCredits,
  releaseLapsed,
  type HoldOutcome,
  type Movement,
} from './movements.js';
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
 * Credits: one is held before a search, spent when it answered 200, and released otherwise. All
 * promises resolve once the movement is durable.
 *
 * @throws StoreUnavailable when nothing could be written; nothing was held or spent then.
 */
export interface Credits {
  /**
   * Holds one credit. Between any number of callers and gateways on one database, as many holds
   * succeed as there are credits, and no more. Refuses with `insufficient_credits`, and with
   * `plan_restricted` once a plan that was agreed for a time has ended.
   */
  hold(caller: Caller, requestId: string): Promise<CreditHold | Refusal>;
  /** `lapsed` when the hold had been given back meanwhile: it is older than HOLD_LEASE_MS. */
  spend(hold: CreditHold): Promise<'spent' | 'lapsed'>;
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
  balance(accountId: string): Promise<CreditBalance | undefined>;
  /** Gives back what dead processes held: at start, and every few seconds. Returns how many. */
  releaseLapsed(): Promise<number>;
  /**
   * Recomputes every balance from the transfers and returns the accounts where the two disagree
   * or do not add up. Empty, or the books are wrong.
   */
  reconcile(): Promise<readonly string[]>;
}

/**
 * A hold whose process died is given back after this time. No search lasts as long: the upstream
 * has five seconds.
 */
export const HOLD_LEASE_MS = 60_000;
const BATCH_MAX = 256;

export function openCredits(store: Store, clock: Clock): Credits {
  const moves = new Batcher<Movement, HoldOutcome | 'done' | 'lapsed'>(
    (movements) =>
      store.write((tx: Kysely<AccountTables>) =>
        moveCredits(tx, movements, clock.now(), HOLD_LEASE_MS),
      ),
    (task) => clock.defer(task),
    BATCH_MAX,
  );

  return {
    async hold(caller, requestId) {
      const { planEndsAt } = caller.account;
      if (planEndsAt !== undefined && planEndsAt <= clock.now()) return planEnded(planEndsAt);
      const budget = caller.key.monthlyBudget;
      const hold: CreditHold = {
        kind: 'held',
        requestId,
        accountId: caller.account.id,
        keyId: caller.key.id,
        budgetMonth: budget === null ? null : monthOf(clock.now()),
      };
      const outcome = await moves.submit({ kind: 'hold', hold, budget });
      switch (outcome) {
        case 'no-credits':
          return refuse(
            'insufficient_credits',
            'This account has no credits left. Add credits in the console under Billing or with ' +
              'POST /account/credits, or send the search without a key and pay for it alone.',
          );
        case 'over-budget':
          return refuse(
            'insufficient_credits',
            `This key has used up its budget of ${budget ?? 0} ${budget === 1 ? 'credit' : 'credits'} for this month. ` +
              'Raise its budget in the console under Keys, or use another key.',
          );
        default:
          return hold;
      }
    },
    async spend(hold) {
      const outcome = await moves.submit({ kind: 'spend', hold });
      return outcome === 'lapsed' ? 'lapsed' : 'spent';
    },
    async release(hold) {
      await moves.submit({ kind: 'release', hold });
    },
    grant: (accountId, amount, cause, reference) =>
      store.write((tx: Kysely<AccountTables>) =>
        grantCredits(tx, { accountId, amount, cause, reference, now: clock.now() }),
      ),
    async balance(accountId) {
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
    releaseLapsed: () => store.write((tx: Kysely<AccountTables>) => releaseLapsed(tx, clock.now())),
    reconcile: () => store.read(reconcile),
  };
}

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
  const sum = (condition: string) =>
    sql<bigint>`cast(coalesce(sum(case when ${sql.raw(condition)} then amount else 0 end), 0) as bigint)`;
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
    .select([
      'balance.account_id',
      'balance.granted',
      'balance.available',
      'balance.held',
      'balance.spent',
      'moved.granted as moved_granted',
      'moved.held as moved_held',
      'moved.spent as moved_spent',
    ])
    .execute();
  return booked
    .filter(
      (row) =>
        row.granted !== (row.moved_granted ?? 0n) ||
        row.held !== (row.moved_held ?? 0n) ||
        row.spent !== (row.moved_spent ?? 0n) ||
        row.granted !== row.available + row.held + row.spent,
    )
    .map((row) => row.account_id);
}
