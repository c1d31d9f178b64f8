import type { Plan } from '../domain/plan.js';
import type { UnixMillis } from '../domain/units.js';

/** Who asks, once a key has been checked: everything that the rest of the pipeline wants to know. */
export interface Caller {
  readonly account: {
    readonly id: string;
    readonly plan: Plan;
    /** Searches per second: what was agreed, or what the plan has. */
    readonly ratePerSecond: number;
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
