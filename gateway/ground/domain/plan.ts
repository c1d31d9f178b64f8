/** The plans on sale and their searches per second (service specification, Limits). */
export const PLANS = {
  payg: { name: 'Pay As You Go', ratePerSecond: 20 },
  pro: { name: 'Pro', ratePerSecond: 50 },
  /** Reserved searches per second, set for each account by the operator; this is the floor. */
  enterprise: { name: 'Enterprise', ratePerSecond: 50 },
} as const;

export type Plan = keyof typeof PLANS;

export function isPlan(text: string): text is Plan {
  return Object.hasOwn(PLANS, text);
}

/** The highest rate that an operator can set: each slot of a window costs eight bytes. */
export const RATE_PER_SECOND_MAX = 10_000;

/** What an account may do per second: its agreed rate, or its plan's. */
export function ratePerSecond(plan: Plan, agreed: number | null): number {
  return agreed ?? PLANS[plan].ratePerSecond;
}
