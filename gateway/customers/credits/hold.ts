/** One credit that was set aside for one search. */
export interface CreditHold {
  readonly kind: 'held';
  readonly requestId: string;
  readonly accountId: string;
  readonly keyId: string;
  /** Set where the key has a monthly budget, which the hold has counted against. */
  readonly budgetMonth: number | null;
}
