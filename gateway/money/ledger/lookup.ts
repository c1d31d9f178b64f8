import type { AuthorizationKey } from '../payment/authorization.js';
import type { Store } from '../../ground/store/store.js';
import type { Payment } from './payment.js';
import { paymentOf } from './tables.js';
import type { LedgerTx } from './transition.js';

/**
 * The payment of an authorization as its payer may ask for it: the live one if there is one, else
 * the one that was released last.
 */
export function lookUpPayment(store: Store, key: AuthorizationKey): Promise<Payment | undefined> {
  return store.read(async (db: LedgerTx) => {
    const row = await db
      .selectFrom('payments')
      .selectAll()
      .where('chain_id', '=', BigInt(key.chainId))
      .where('asset', '=', key.asset)
      .where('payer', '=', key.from)
      .where('nonce', '=', key.nonce)
      // NULL sorts first in one engine and last in the other, so a live row gets a number.
      .orderBy(
        (order) => order.case().when('released_at', 'is', null).then(1).else(0).end(),
        'desc',
      )
      .orderBy('released_at', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row && paymentOf(row);
  });
}
