import { isRefusal, refuse, type Refusal } from '../ground/domain/refusal.js';
import type { Payment, StoredReply } from '../money/ledger/payment.js';
import type { SettlementOutcome } from '../money/settlement/outcome.js';
import { foundIn, refused, soldOf, type SearchReply } from './reply.js';

/** Seconds after which a caller is asked to send the same payment again: one Base block. */
const RETRY_SECONDS = 2;

export const FOREIGN = refuse('payment_invalid', 'The signature doesn’t match the payer.', {
  reason: 'invalid_exact_evm_signature',
});

export const BOUND = refuse(
  'authorization_bound_to_other_request',
  'This authorization was first used for another search. Sign a new one for this search.',
  { reason: 'authorization_bound_to_other_request' },
);

export const CONFLICT = refuse(
  'payment_identifier_conflict',
  'This payment identifier was used for another request. Use a new one for each request.',
);

/** What the payer is told, by what became of the payment. */
export function conclude(
  payment: Payment,
  reply: StoredReply | Refusal | undefined,
  outcome: SettlementOutcome,
  requestId: string,
): SearchReply {
  const { chainId, from: payer, value: amount } = payment.authorization;
  switch (outcome.kind) {
    case 'settled': {
      if (!reply) return refused(requestId, EXPIRED);
      if (isRefusal(reply)) return refused(requestId, reply);
      const receipt = { chainId, payer, transaction: outcome.transaction, amount };
      const sold = soldOf({ binding: payment.binding, at: payment.reservedAt }, reply);
      const { requestId: first, body } = reply;
      return { kind: 'results', requestId: first, body, receipt, sold, ...foundIn(reply) };
    }
    case 'failed': {
      const { reason, transaction } = outcome;
      const receipt = {
        chainId,
        payer,
        errorReason: reason,
        ...(transaction && { transaction }),
      };
      return refused(requestId, settlementFailed(reason), receipt);
    }
    case 'released':
      return refused(requestId, RELEASED);
    case 'pending':
      return refused(requestId, settlementPending(outcome.transaction));
  }
}

/** Nobody reads it. */
export const GONE = refuse('service_unavailable', 'The caller disconnected.', {
  retryAfterSeconds: 1,
});

const EXPIRED = refuse(
  'payment_invalid',
  'This authorization paid for a search whose reply has been deleted. Sign a new one.',
  { reason: 'invalid_exact_evm_nonce_already_used' },
);

export const RELEASED = refuse(
  'service_unavailable',
  'The search behind this payment failed and nothing was charged. Send the same payment again.',
  { retryAfterSeconds: 1 },
);

function settlementFailed(reason: string): Refusal {
  const detail = `The payment couldn’t be settled (${reason}). We moved no money and there are no results.`;
  return refuse('settlement_failed', detail, { reason });
}

function settlementPending(transaction: string | undefined): Refusal {
  const where = transaction ? ` in transaction ${transaction}` : '';
  return refuse(
    'settlement_pending',
    `The payment is on its way${where} and its outcome is not known yet. Do not sign a new one: ` +
      `send the same payment again after ${RETRY_SECONDS} seconds to get the results.`,
    { retryAfterSeconds: RETRY_SECONDS },
  );
}
