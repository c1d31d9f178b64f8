import type { Kysely } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import type { Address, Bytes32 } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import type { CodeObjection } from '../payment/code-refusals.js';
import type { CodePayer } from './code-payer.js';
import type { LedgerTables } from './tables.js';
import type { LedgerTx } from './transition.js';

/** What payers with code may cost, and how long one that burned gas is barred. */
export interface CodePayerLimits {
  /** Gas in any hour: burned by all of them together, and what their open payments may still use. */
  readonly gasPerHour: bigint;
  /** Milliseconds after the first failure; each further one takes four times as long. */
  readonly barMs: number;
  readonly barMsMax: number;
}

export const CODE_PAYER_LIMITS: CodePayerLimits = {
  gasPerHour: 5_000_000n,
  barMs: 60_000,
  barMsMax: 86_400_000,
};

/** One call of a payer's code in a mined transaction of ours. */
export interface CodeCall {
  readonly intentId: string;
  readonly paymentId: string;
  readonly payer: Address;
  readonly code: Bytes32;
  /** What it used beyond what a plain transfer may. */
  readonly gasWasted: bigint;
  readonly isMoved: boolean;
  /** Whether no other payment shared the transaction. */
  readonly isAlone: boolean;
}

const HOUR_MS = 3_600_000;
/** Calls that are looked at to judge one payer, or one code. */
const CALLS_MAX = 64;
const BAR_GROWTH = 4;
/** Longer than any bar lasts. */
const KEPT_MS = 7 * 86_400_000;
const ROWS_MAX = 500;

/** What payers with code have cost: durable and shared, so that no restart and no second gateway forgets. */
export class CodePayerBooks {
  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** Why this payer's payment is not taken now; its gas limit may not be known yet. */
  objection(
    payer: Address,
    wanted: { readonly code: Bytes32; readonly gasLimit?: bigint },
    limits: CodePayerLimits,
  ): Promise<CodeObjection | undefined> {
    return this.store.read((db: LedgerTx) =>
      findCodeObjection(db, payer, wanted, this.clock.now(), limits),
    );
  }

  /** Whether a transaction that carried this payment alone was mined and moved nothing. */
  async hasFailedAlone(paymentId: string): Promise<boolean> {
    const row = await this.store.read((db: LedgerTx) =>
      db
        .selectFrom('code_calls')
        .select('intent_id')
        .where('payment_id', '=', paymentId)
        .where('moved', '=', 0n)
        .where('alone', '=', 1n)
        .limit(1)
        .executeTakeFirst(),
    );
    return row !== undefined;
  }

  /**
   * Notes that the payer of an open payment turned out to have code. False while another payment of
   * the same payer is open: this one has to wait, because such payers have one at a time.
   */
  mark(paymentId: string, { code, gasLimit }: CodePayer): Promise<boolean> {
    return this.store.write(async (tx: LedgerTx) => {
      const { payer } = await tx
        .selectFrom('payments')
        .select('payer')
        .where('id', '=', paymentId)
        .executeTakeFirstOrThrow();
      const [other] = await openOfPayer(tx, payer, paymentId);
      if (other) return false;
      await tx
        .updateTable('payments')
        .set({ payer_code: code, gas_limit: gasLimit })
        .where('id', '=', paymentId)
        .execute();
      return true;
    });
  }

  /** Forgets calls that no bar and no budget goes back to. */
  prune(): Promise<void> {
    return this.store.write(async (tx: LedgerTx) => {
      const before = BigInt(Math.max(this.clock.now() - KEPT_MS, 0));
      const old = tx.selectFrom('code_calls').select('intent_id').where('called_at', '<', before);
      const ids = await old.limit(ROWS_MAX).execute();
      if (ids.length === 0) return;
      const gone = ids.map((row) => row.intent_id);
      await tx.deleteFrom('code_calls').where('intent_id', 'in', gone).execute();
    });
  }
}

/** Records what these calls used; recorded again, they replace what was known. */
export async function recordCodeCalls(
  tx: LedgerTx,
  calls: readonly CodeCall[],
  now: bigint,
): Promise<void> {
  for (const call of calls) {
    const facts = {
      gas_wasted: call.gasWasted,
      moved: call.isMoved ? 1n : 0n,
      alone: call.isAlone ? 1n : 0n,
      called_at: now,
    };
    const { intentId: intent_id, paymentId: payment_id, payer, code } = call;
    await tx
      .insertInto('code_calls')
      .values({ intent_id, payment_id, payer, code, ...facts })
      .onConflict((conflict) => conflict.columns(['intent_id', 'payment_id']).doUpdateSet(facts))
      .execute();
  }
}

/** As `CodePayerBooks.objection`, within the caller's transaction. */
export async function findCodeObjection(
  db: Kysely<LedgerTables>,
  payer: Address,
  { code, gasLimit = 0n }: { readonly code: Bytes32; readonly gasLimit?: bigint },
  nowMs: number,
  limits: CodePayerLimits,
): Promise<CodeObjection | undefined> {
  const untilMs = await barredUntil(db, payer, code, limits);
  if (untilMs > nowMs)
    return { kind: 'barred', retryAfterSeconds: Math.ceil((untilMs - nowMs) / 1000) };
  const [open] = await openOfPayer(db, payer);
  if (open) return { kind: 'open-payment' };
  const spent = await gasOfLastHour(db, nowMs);
  return spent + gasLimit > limits.gasPerHour ? { kind: 'budget-used' } : undefined;
}

type Call = Pick<LedgerTables['code_calls'], 'moved' | 'called_at' | 'payer' | 'code'>;

/**
 * A payer's failures since its last success bar it. The failures of one code that its successes do
 * not outweigh bar newcomers with that code: who has paid before, and not failed since, is spared,
 * so that nobody locks all wallets of one maker out.
 */
async function barredUntil(
  db: Kysely<LedgerTables>,
  payer: Address,
  code: Bytes32,
  limits: CodePayerLimits,
): Promise<number> {
  const own = await lastCalls(db, 'payer', payer);
  const success = own.findIndex(({ moved }) => moved === 1n);
  const failures = success < 0 ? own.length : success;
  if (failures > 0 || success === 0) return barEnd(own, failures, limits);
  const alike = await lastCalls(db, 'code', code);
  const successes = alike.filter(({ moved }) => moved === 1n).length;
  return barEnd(
    alike.filter(({ moved }) => moved === 0n),
    alike.length - 2 * successes,
    limits,
  );
}

/** When the bar ends that so many failures earn, the newest first. */
function barEnd([newest]: readonly Call[], failures: number, limits: CodePayerLimits): number {
  if (!newest || failures <= 0) return 0;
  const barMs = limits.barMs * BAR_GROWTH ** (failures - 1);
  return Number(newest.called_at) + Math.min(barMs, limits.barMsMax);
}

function lastCalls(
  db: Kysely<LedgerTables>,
  of: 'payer' | 'code',
  value: string,
): Promise<readonly Call[]> {
  return db
    .selectFrom('code_calls')
    .select(['moved', 'called_at', 'payer', 'code'])
    .where(of, '=', value)
    .orderBy('called_at', 'desc')
    .limit(CALLS_MAX)
    .execute();
}

function openOfPayer(db: Kysely<LedgerTables>, payer: string, except = '') {
  return db
    .selectFrom('payments')
    .select('id')
    .where('payer', '=', payer)
    .where('payer_code', 'is not', null)
    .where('released_at', 'is', null)
    .where('failed_at', 'is', null)
    .where('settled_at', 'is', null)
    .where('id', '<>', except)
    .limit(1)
    .execute();
}

/** Burned in the last hour, and what open payments may still burn. */
async function gasOfLastHour(db: Kysely<LedgerTables>, nowMs: number): Promise<bigint> {
  const burned = await db
    .selectFrom('code_calls')
    .select((select) => select.fn.sum<bigint | string | null>('gas_wasted').as('gas'))
    .where('called_at', '>', BigInt(Math.max(nowMs - HOUR_MS, 0)))
    .executeTakeFirst();
  const open = await db
    .selectFrom('payments')
    .select((select) => select.fn.sum<bigint | string | null>('gas_limit').as('gas'))
    .where('payer_code', 'is not', null)
    .where('released_at', 'is', null)
    .where('failed_at', 'is', null)
    .where('settled_at', 'is', null)
    .executeTakeFirst();
  return BigInt(burned?.gas ?? 0) + BigInt(open?.gas ?? 0);
}
