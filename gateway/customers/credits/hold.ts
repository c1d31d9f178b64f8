/** One credit that was set aside for one search. */
export interface CreditHold {
  readonly kind: 'held';
  readonly requestId: string;
  readonly accountId: string;
}
