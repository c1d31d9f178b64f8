import { DEPOSIT_COLLECTOR, SETTLEMENT_CONTRACT } from '../../gateway/money/payment/deposit.js';
import { AuditBooks } from '../../gateway/money/ledger/audit.js';
import { reconcile } from '../../gateway/money/settlement/reconcile.js';
import { createRpcChain } from '../../gateway/money/settlement/rpc-chain.js';
import type { Store } from '../../gateway/ground/store/store.js';
import { CHAIN_ID, type Mined } from './chain/chain.js';
import { TOKEN, TRANSFER } from './chain/token.js';
import { createNode } from './chain/node.js';
import type { WorldParts } from './creation.js';
import { TERMS, type SignedPayment } from './payers.js';

/** I3: whatever was settled can be fetched again, byte for byte. */
export async function fetchAgain(parts: WorldParts, queries: ReadonlyMap<SignedPayment, string>) {
  const { disk, payments, customers, violation } = parts;
  const settled = disk.query(
    `select nonce, payer from payments
      where released_at is null and failed_at is null and settled_at is not null`,
  );
  for (const payment of payments) {
    const { nonce, from } = payment.authorization;
    if (!settled.some((row) => row.nonce === nonce && row.payer === from)) continue;
    const query = queries.get(payment) ?? '';
    const first = await customers.present(payment, query);
    const isOther =
      first !== 'lost' &&
      first.kind === 'refused' &&
      first.refusal.code === 'authorization_bound_to_other_request';
    const heard = isOther ? await customers.present(payment, 'another thing') : first;
    if (heard === 'lost' || heard.kind !== 'results')
      violation(
        `I3: ${payment.name} settled, but fetching it again gives ${
          heard === 'lost' ? 'nothing' : heard.refusal.code
        }`,
      );
  }
}

/** I4: the settled values are the transfers that the books know; all others are strangers'. */
export async function reconcileBooks(store: Store, { chain, violation }: WorldParts) {
  const node = createNode(chain, [], () => 0);
  const rpc = createRpcChain(CHAIN_ID, {
    request: (method, params) => Promise.resolve(node(method, params)),
  });
  const payments = new AuditBooks(store).payments({ statuses: ['settled', 'final'] });
  const books = { asset: TOKEN, payees: [TERMS.payTo, DEPOSIT_COLLECTOR], payments };
  const fromBlock = BigInt(chain.blocks[0]?.number ?? 0);
  const { settled, matched, missing, others } = await reconcile(rpc, books, { fromBlock });
  if (missing.length > 0) violation(`I4: ${missing.length} settled transfers are missing`);
  if (settled.units !== matched.units)
    violation(`I4: ${settled.units} settled, but ${matched.units} moved`);
  const ours = new Set(chain.blocks.flatMap(({ mined }) => mined.flatMap(ourTransfer)));
  for (const { transaction, from } of others) {
    // What channels have earned is paid out by their contract.
    if (from !== SETTLEMENT_CONTRACT && ours.has(transaction))
      violation(`I4: ${transaction} is ours and in no book`);
  }
}

function ourTransfer({ transaction, logs }: Mined): string[] {
  const isOurs = transaction.kind === 'signed' && logs.some(({ topics }) => topics[0] === TRANSFER);
  return isOurs ? [transaction.hash] : [];
}
