import { sql, type Kysely } from 'kysely';
import { inChunks } from './chunks.js';
import type { CreditHold } from './hold.js';
import type { AccountTables } from './schema.js';

export type HoldOutcome = 'held' | 'no-credits' | 'over-budget';

export type Movement =
  | { readonly kind: 'hold'; readonly hold: CreditHold; readonly budget: number | null }
  | { readonly kind: 'spend'; readonly hold: CreditHold }
  | { readonly kind: 'release'; readonly hold: CreditHold };

interface Change {
  available: number;
  held: number;
  spent: number;
}

type Outcome = HoldOutcome | 'done' | 'lapsed';

/**
 * Carries out many movements in one transaction: a few statements for all of them together.
 * Spends and releases go first, so that what they free can be held again by their neighbours.
 * Answers in the order of the movements.
 */
export async function moveCredits(
  tx: Kysely<AccountTables>,
  movements: readonly Movement[],
  now: number,
  leaseMs: number,
): Promise<readonly Outcome[]> {
  const changes = new Changes();
  const settled = await settle(tx, movements, now, changes);
  const held = await holdAll(tx, movements, now, leaseMs, changes);
  await changes.write(tx);
  return movements.map(({ kind, hold: { requestId } }): Outcome => {
    if (kind === 'hold') return held.get(requestId) ?? 'no-credits';
    return settled.has(requestId) ? 'done' : 'lapsed';
  });
}

/** Gives back what was held by processes that died, a bounded number at a time. */
export async function releaseLapsed(tx: Kysely<AccountTables>, now: number): Promise<number> {
  const lapsed = await tx
    .selectFrom('credit_transfers')
    .select(['id', 'account_id', 'key_id', 'created_at'])
    .where('posted_at', 'is', null)
    .where('voided_at', 'is', null)
    .where('lapses_at', '<=', BigInt(now))
    .limit(LAPSED_MAX)
    .execute();
  const changes = new Changes();
  for (const ids of inChunks(lapsed.map(({ id }) => id))) {
    await closeHolds(tx, ids, 'voided_at', now);
  }
  for (const { account_id, key_id, created_at } of lapsed) {
    changes.add(account_id, { available: 1, held: -1, spent: 0 });
    if (key_id !== null) changes.addUse(key_id, monthOf(Number(created_at)), -1);
  }
  await changes.write(tx);
  return lapsed.length;
}

/** The calendar month in UTC, as year * 100 + month. */
export function monthOf(unixMs: number): number {
  const date = new Date(unixMs);
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
}

const LAPSED_MAX = 1000;

/** Closes the holds that are spent or released; returns those that were still open. */
async function settle(
  tx: Kysely<AccountTables>,
  movements: readonly Movement[],
  now: number,
  changes: Changes,
): Promise<ReadonlySet<string>> {
  const settled = new Set<string>();
  for (const kind of ['spend', 'release'] as const) {
    const holds = new Map(
      movements.flatMap((move) => (move.kind === kind ? [[move.hold.requestId, move.hold]] : [])),
    );
    for (const ids of inChunks([...holds.keys()])) {
      const fact = kind === 'spend' ? 'posted_at' : 'voided_at';
      for (const { id } of await closeHolds(tx, ids, fact, now)) {
        settled.add(id);
        const hold = holds.get(id);
        if (!hold) continue;
        const isSpent = kind === 'spend';
        changes.add(hold.accountId, {
          available: isSpent ? 0 : 1,
          held: -1,
          spent: isSpent ? 1 : 0,
        });
        if (!isSpent && hold.budgetMonth !== null) {
          changes.addUse(hold.keyId, hold.budgetMonth, -1);
        }
      }
    }
  }
  return settled;
}

function closeHolds(
  tx: Kysely<AccountTables>,
  ids: readonly string[],
  fact: 'posted_at' | 'voided_at',
  now: number,
): Promise<{ id: string }[]> {
  return tx
    .updateTable('credit_transfers')
    .set({ [fact]: now })
    .where('id', 'in', ids)
    .where('posted_at', 'is', null)
    .where('voided_at', 'is', null)
    .returning('id')
    .execute();
}

type HoldMovement = Extract<Movement, { kind: 'hold' }>;

/** Holds what the balances and budgets allow, in the order of arrival. */
async function holdAll(
  tx: Kysely<AccountTables>,
  movements: readonly Movement[],
  now: number,
  leaseMs: number,
  changes: Changes,
): Promise<ReadonlyMap<string, HoldOutcome>> {
  const wanted = movements.filter((move): move is HoldMovement => move.kind === 'hold');
  const outcomes = new Map<string, HoldOutcome>();
  if (wanted.length === 0) return outcomes;
  const available = await availableCredits(tx, wanted, changes);
  const used = await budgetsUsed(tx, wanted, changes);
  const rows = [];
  for (const { hold, budget } of wanted) {
    const credits = available.get(hold.accountId) ?? 0;
    const use = used.get(`${hold.keyId} ${hold.budgetMonth ?? ''}`) ?? 0;
    if (credits < 1 || (budget !== null && use >= budget)) {
      outcomes.set(hold.requestId, credits < 1 ? 'no-credits' : 'over-budget');
      continue;
    }
    outcomes.set(hold.requestId, 'held');
    available.set(hold.accountId, credits - 1);
    changes.add(hold.accountId, { available: -1, held: 1, spent: 0 });
    if (hold.budgetMonth !== null) {
      used.set(`${hold.keyId} ${hold.budgetMonth}`, use + 1);
      changes.addUse(hold.keyId, hold.budgetMonth, 1);
    }
    rows.push({
      id: hold.requestId,
      account_id: hold.accountId,
      key_id: hold.keyId,
      debit: 'available' as const,
      credit: 'spent' as const,
      amount: 1,
      cause: 'search',
      created_at: now,
      lapses_at: now + leaseMs,
    });
  }
  for (const chunk of inChunks(rows)) {
    await tx
      .insertInto('credit_transfers')
      .values([...chunk])
      .execute();
  }
  return outcomes;
}

async function availableCredits(
  tx: Kysely<AccountTables>,
  wanted: readonly HoldMovement[],
  changes: Changes,
): Promise<Map<string, number>> {
  const available = new Map<string, number>();
  const accounts = [...new Set(wanted.map(({ hold }) => hold.accountId))];
  for (const chunk of inChunks(accounts)) {
    const rows = await tx
      .selectFrom('credit_balances')
      .select(['account_id', 'available'])
      .where('account_id', 'in', chunk)
      .execute();
    for (const row of rows) {
      const freed = changes.of(row.account_id).available;
      available.set(row.account_id, Number(row.available) + freed);
    }
  }
  return available;
}

async function budgetsUsed(
  tx: Kysely<AccountTables>,
  wanted: readonly HoldMovement[],
  changes: Changes,
): Promise<Map<string, number>> {
  const used = new Map<string, number>();
  const keys = new Map(wanted.map(({ hold }) => [`${hold.keyId} ${hold.budgetMonth ?? ''}`, hold]));
  for (const [name, { keyId, budgetMonth }] of keys) {
    if (budgetMonth === null) continue;
    const row = await tx
      .selectFrom('key_months')
      .select('used')
      .where('key_id', '=', keyId)
      .where('month', '=', BigInt(budgetMonth))
      .executeTakeFirst();
    used.set(name, Number(row?.used ?? 0n) + changes.useOf(keyId, budgetMonth));
  }
  return used;
}

/** What a batch does to balances and budgets, summed up, so that each row is written once. */
class Changes {
  readonly #balances = new Map<string, Change>();
  readonly #uses = new Map<string, { keyId: string; month: number; count: number }>();

  of(accountId: string): Readonly<Change> {
    return this.#balances.get(accountId) ?? { available: 0, held: 0, spent: 0 };
  }

  add(accountId: string, change: Change): void {
    const { available, held, spent } = this.of(accountId);
    this.#balances.set(accountId, {
      available: available + change.available,
      held: held + change.held,
      spent: spent + change.spent,
    });
  }

  useOf(keyId: string, month: number): number {
    return this.#uses.get(`${keyId} ${month}`)?.count ?? 0;
  }

  addUse(keyId: string, month: number, count: number): void {
    const total = this.useOf(keyId, month) + count;
    this.#uses.set(`${keyId} ${month}`, { keyId, month, count: total });
  }

  /** In one order everywhere, so that two gateways on one database do not wait in a circle. */
  async write(tx: Kysely<AccountTables>): Promise<void> {
    for (const [accountId, { available, held, spent }] of [...this.#balances].sort(byName)) {
      if (available === 0 && held === 0 && spent === 0) continue;
      await tx
        .updateTable('credit_balances')
        .set((set) => ({
          available: set('available', '+', BigInt(available)),
          held: set('held', '+', BigInt(held)),
          spent: set('spent', '+', BigInt(spent)),
        }))
        .where('account_id', '=', accountId)
        .execute();
    }
    for (const [, { keyId, month, count }] of [...this.#uses].sort(byName)) {
      if (count > 0) await this.#writeUse(tx, keyId, month, count);
      if (count < 0) await this.#takeUseBack(tx, keyId, month, -count);
    }
  }

  async #writeUse(tx: Kysely<AccountTables>, key_id: string, month: number, count: number) {
    await tx
      .insertInto('key_months')
      .values({ key_id, month, used: count })
      .onConflict((conflict) =>
        conflict
          .columns(['key_id', 'month'])
          .doUpdateSet((set) => ({ used: set('key_months.used', '+', BigInt(count)) })),
      )
      .execute();
  }

  /** A key without a budget at the time of the hold has no row, and none is needed then. */
  async #takeUseBack(tx: Kysely<AccountTables>, keyId: string, month: number, count: number) {
    await tx
      .updateTable('key_months')
      .set({ used: sql<bigint>`case when used < ${count} then 0 else used - ${count} end` })
      .where('key_id', '=', keyId)
      .where('month', '=', BigInt(month))
      .execute();
  }
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) =>
  a < b ? -1 : a > b ? 1 : 0;
