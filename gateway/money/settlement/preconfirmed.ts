import type { Payment } from '../ledger/payment.js';
import type { SettlementParts } from './parts.js';
import { transferredBy } from './results.js';
import { findCanonical } from './canonical.js';

/** Block times that a preconfirmation has to become a canonical block, before anybody asks. */
const GRACE_BLOCKS = 2;

/**
 * Looks at payments whose block should have been finished by now. Their flights settle them in the
 * ordinary way; what is left is what vanished, or what no flight carries any more.
 *
 * @returns the payments whose transfers are not in the block that was made; recorded as `reorged`.
 */
export async function followPreconfirmed(
  payments: readonly Payment[],
  parts: SettlementParts,
): Promise<readonly Payment[]> {
  const { chain, books, log, settings, clock } = parts;
  const graceMs = GRACE_BLOCKS * settings.blockTimeMs;
  const due = payments.filter(
    ({ status, facts }) =>
      status === 'preconfirmed' && Math.abs(clock.now() - (facts.preconfirmedAt ?? 0)) >= graceMs,
  );
  if (due.length === 0) return [];
  const hashes = [...new Set(due.flatMap(({ transaction }) => transaction ?? []))];
  const receipts = (await chain.receipts(hashes)).flatMap((receipt) => receipt ?? []);
  const found = await findCanonical(chain, receipts);
  const head = found.head ?? (await chain.block('latest')).number;
  const vanished: Payment[] = [];
  for (const payment of due) {
    const receipt = receipts.find(({ hash }) => hash === payment.transaction);
    const canonical = receipt && found.canonical.includes(receipt) ? receipt : undefined;
    const isMoved =
      canonical?.succeeded && transferredBy([payment.authorization], canonical.logs)[0];
    if (isMoved) {
      const depth = head - canonical.block.number + 1n;
      if (depth < BigInt(settings.confirmations)) continue;
      await books.outcomes.recordAdopted(payment.id, canonical.hash, canonical.block);
    } else if (canonical || (!receipt && head >= (payment.block?.number ?? 0n))) {
      vanished.push(payment);
    }
  }
  for (const { id, transaction } of vanished) {
    log.error({ payment: id, transaction }, 'a preconfirmed transfer vanished');
  }
  if (vanished.length > 0) await books.reorgs.recordVanished(vanished.map(({ id }) => id));
  return vanished;
}
