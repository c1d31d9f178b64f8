import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import type { Credentials } from '../../search/caller.js';
import { PAYMENT_META } from './result.js';

/**
 * Says who pays for a tool call: the account that its connection belongs to, or the payment in its
 * `_meta`. The payment is handed on as the HTTP header that holds the same object, so that one
 * decoder reads both and the same authorization is the same payment by either way.
 */
export function credentialsOf(
  account: Extract<Credentials, { kind: 'account' }> | undefined,
  meta: Readonly<Record<string, unknown>> | undefined,
): Credentials | Refusal {
  const payment = meta?.[PAYMENT_META];
  if (payment === undefined) return account ?? { kind: 'none' };
  if (account) {
    return refuse(
      'ambiguous_credentials',
      `This connection pays by its account. Leave _meta["${PAYMENT_META}"] out, or connect ` +
        'without a key: a search is charged once.',
    );
  }
  if (typeof payment !== 'object' || payment === null) {
    return refuse('malformed_payment', `_meta["${PAYMENT_META}"] must be an object.`);
  }
  const value = Buffer.from(JSON.stringify(payment), 'utf8').toString('base64');
  const isV1 = 'x402Version' in payment && payment.x402Version === 1;
  return { kind: 'payment', version: isV1 ? 1 : 2, value };
}
