import { ratePerSecond, type Plan } from '../../ground/domain/plan.js';
import { unixMillis, type UnixMillis } from '../../ground/domain/units.js';

/** Who asks, once a key has been checked: everything that the rest of the pipeline wants to know. */
export interface Caller {
  readonly account: {
    readonly id: string;
    readonly plan: Plan;
    /** Searches per second: what was agreed, or what the plan has. */
    readonly ratePerSecond: number;
    /** When the agreed plan ends, and with it searching; absent for a plan without an end. */
    readonly planEndsAt?: UnixMillis;
  };
  readonly key: {
    readonly id: string;
    readonly name: string;
    /** The person who made it, for usage by member. */
    readonly createdBy: string | null;
    /** Searches per second of this key alone; null when only the account's rate counts. */
    readonly ratePerSecond: number | null;
    /** Credits in a calendar month (UTC) of this key alone; null without one. */
    readonly monthlyBudget: number | null;
    readonly expiresAt: UnixMillis | null;
  };
}

/** The account of a caller, from its row. */
export function accountOf(
  id: string,
  row: { plan: Plan; rate_per_second: bigint | null; plan_ends_at: bigint | null },
): Caller['account'] {
  const { plan, rate_per_second: agreed, plan_ends_at: end } = row;
  return {
    id,
    plan,
    ratePerSecond: ratePerSecond(plan, agreed === null ? null : Number(agreed)),
    ...(end !== null && { planEndsAt: unixMillis(Number(end)) }),
  };
}
