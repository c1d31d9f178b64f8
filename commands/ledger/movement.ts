/** What a movement was for. */
export type MovementKind =
  | 'exact'
  | 'pack'
  | 'top-up'
  | 'deposit'
  | 'voucher charge'
  | 'claim'
  | 'payout'
  | 'refund'
  | 'gas';

/** One movement of money. Amounts in atomic USDC, costs in wei. */
export interface Movement {
  /** Unix milliseconds. */
  readonly at: number;
  readonly kind: MovementKind;
  /** Whose money it was; who gets it back, for a refund. Lower case. */
  readonly payer: string;
  /** What was earned, deposited, paid out or given back; absent for gas. */
  readonly amount?: bigint;
  /** What the token itself moved: nothing for a charge or a claim, which are kept in books. */
  readonly moved?: bigint;
  readonly requestId?: string;
  readonly transaction?: string;
  readonly block?: bigint;
  readonly gas?: { readonly used: bigint; readonly costWei: bigint };
}
