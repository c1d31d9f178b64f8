import { createHash } from 'node:crypto';
import { settledRequests, settledTransactions } from '../customers/credits/revenue.js';
import type { TopUpOrder, TopUpPayments } from '../customers/credits/top-up.js';
import { UNBOUNDED } from '../ground/domain/allowance.js';
import type { RequestBinding } from '../money/ledger/payment.js';
import type { PaymentTerms } from '../money/x402/terms.js';
import type { createPaidSearch } from '../search/paid.js';
import type { Store } from '../ground/store/store.js';
import { createSale, type SalePresented } from './sale.js';

interface TopUpPaymentParts {
  readonly store: Store;
  readonly terms: PaymentTerms;
  readonly publicUrl: string;
  /** The payment path. */
  readonly buy: ReturnType<typeof createPaidSearch<SalePresented, TopUpOrder>>;
}

/** What is sold is the order, for whose account and amount the payment is bound. */
export function createTopUpPayments(parts: TopUpPaymentParts): TopUpPayments {
  const { store, terms, publicUrl, buy } = parts;
  const sell = createSale({
    terms,
    resource: {
      url: new URL('/account/credits', publicUrl).href,
      description: 'Search credits for an account',
      mimeType: 'application/json',
    },
    unpaid:
      'Sign the authorization that the PAYMENT-REQUIRED header describes and repeat the request ' +
      'with a PAYMENT-SIGNATURE header. The credits are there when the reply is.',
    buy,
  });
  return {
    pay: ({ order, payment, requestId, signal }) =>
      sell({
        ...{ order, payment, requestId, signal },
        amount: order.amount,
        binding: bindingOf(order),
        allowance: UNBOUNDED,
        purchase: () => ({ run: answer }),
      }),
    settled: (requestIds) => settledRequests(store, requestIds),
    transactions: (requestIds) => settledTransactions(store, requestIds),
  };
}

/** There is nothing to run: what a top-up gives is booked once its payment has settled. */
const answer = ({ credits }: TopUpOrder) =>
  Promise.resolve({
    kind: 'answer' as const,
    body: Buffer.from(JSON.stringify({ credits })),
    resultCount: 0,
  });

function bindingOf({ accountId, amount }: TopUpOrder): RequestBinding {
  const canonical = JSON.stringify([accountId, amount.toString()]);
  const hash = createHash('sha256').update(`POST\n/account/credits\n${canonical}`);
  return `0x${hash.digest('hex')}`;
}
