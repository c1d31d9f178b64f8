import { refuse, type Refusal } from '../../ground/domain/refusal.js';

/** Why no payment of a payer with code is taken now. */
export type CodeObjection =
  /** It has one that is not at its end. */
  | { readonly kind: 'open-payment' }
  /** It, or another account with the same code, burned gas. */
  | { readonly kind: 'barred'; readonly retryAfterSeconds: number }
  /** All payers with code together have used up what they may burn. */
  | { readonly kind: 'budget-used' };

/** Seconds until an open payment is settled as a rule, and until a used budget has some room again. */
const OPEN_SECONDS = 4;
const BUDGET_SECONDS = 300;

/** Tells a payer with code why no payment of it is taken now. Payers with plain keys go on. */
export function refuseCodePayer(objection: CodeObjection): Refusal {
  switch (objection.kind) {
    case 'open-payment':
      return deferred(
        'A payer with code can have one open payment at a time, and this payer has one.',
        OPEN_SECONDS,
      );
    case 'barred':
      return deferred(
        'A recent payment from this payer, or one with the same code, failed on chain.',
        objection.retryAfterSeconds,
      );
    case 'budget-used':
      return deferred('Payers with code have used up this hour’s gas budget.', BUDGET_SECONDS);
  }
}

function deferred(why: string, retryAfterSeconds: number): Refusal {
  return refuse(
    'contract_payer_deferred',
    `${why} Nothing was charged. Come back later, or pay from an account without code.`,
    { retryAfterSeconds },
  );
}
