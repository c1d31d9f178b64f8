// Every movement of money that the books know, for bookkeeping.
import type { Kysely } from 'kysely';
import type { Store } from '../../gateway/ground/store/store.js';
import type { PackTables } from '../../gateway/customers/packs/schema.js';
import type { ChannelTx } from '../../gateway/money/channel-books/tables.js';
import { BATCH_SETTLEMENT } from '../../gateway/money/claims/contract.js';
import { AuditBooks, type PaymentFilter } from '../../gateway/money/ledger/audit.js';
import type { Payment } from '../../gateway/money/ledger/payment.js';
import { payoutsOf } from './payouts.js';
import type { Movement, MovementKind } from './movement.js';
import { gasOf, vouchersOf } from './movement-rows.js';

/** What a request bought, where that was more than one search. */
type Bought = (requestId: string) => 'pack' | 'top-up' | undefined;

/** The requests that bought packs and top-ups. */
export async function boughtIn(store: Store): Promise<Bought> {
  const found = await store.read(async (db: Kysely<PackTables>) => ({
    packs: await db.selectFrom('packs').select('request_id').execute(),
    topUps: await db.selectFrom('top_ups').select('request_id').execute(),
  }));
  const packs = new Set(found.packs.map((row) => row.request_id));
  const topUps = new Set(found.topUps.map((row) => row.request_id));
  return (id) => (packs.has(id) ? 'pack' : topUps.has(id) ? 'top-up' : undefined);
}

/** Whose movements, and of which time. */
export type MovementFilter = Omit<PaymentFilter, 'statuses'>;

/**
 * All movements that pass the filter: settled payments, charges of vouchers, claims with payouts and
 * refunds, gas. Each kind is in its own order of time. The books forget: what they have dropped
 * is not there.
 */
export async function* movements(
  store: Store,
  bought: Bought,
  { since, until, payer }: MovementFilter,
): AsyncGenerator<Movement> {
  const wanted = payer?.toLowerCase();
  for (const part of [
    paymentsOf(store, bought),
    vouchersOf(store),
    payoutsOf(store),
    gasOf(store),
  ]) {
    for await (const movement of part) {
      const isWanted = wanted === undefined || movement.payer === wanted;
      const isInTime = movement.at >= (since ?? 0) && movement.at < (until ?? Infinity);
      if (isWanted && isInTime) yield movement;
    }
  }
}

async function* paymentsOf(store: Store, bought: Bought): AsyncGenerator<Movement> {
  const settled = { statuses: ['settled', 'final'] } as const;
  for await (const payment of new AuditBooks(store).payments(settled)) {
    const { authorization, facts, transaction, block, requestId } = payment;
    yield {
      at: facts.settledAt ?? payment.reservedAt,
      kind: kindOf(payment, bought),
      payer: authorization.from,
      amount: authorization.value,
      moved: authorization.value,
      requestId,
      ...(transaction && { transaction }),
      ...(block && { block: block.number }),
    };
  }
}

function kindOf({ authorization, requestId }: Payment, bought: Bought): MovementKind {
  return authorization.deposit ? 'deposit' : (bought(requestId) ?? 'exact');
}

/** Wallets that the books know for our own: relayers, payees, receivers, the contract. */
export async function ownWallets(store: Store): Promise<ReadonlySet<string>> {
  const rows = await store.read(async (db: ChannelTx) => [
    ...(await db.selectFrom('intents').select('relayer as wallet').distinct().execute()),
    ...(await db
      .selectFrom('payments')
      .select('pay_to as wallet')
      .where('deposit', 'is', null)
      .distinct()
      .execute()),
    ...(await db.selectFrom('channels').select('receiver as wallet').distinct().execute()),
  ]);
  return new Set(
    [BATCH_SETTLEMENT, ...rows.map(({ wallet }) => wallet)].map((one) => one.toLowerCase()),
  );
}
