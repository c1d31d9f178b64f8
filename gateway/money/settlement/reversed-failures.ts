import type { OpenFailure } from '../ledger/failures.js';
import type { BlockFacts, Receipt } from './chain.js';
import type { SettlementParts } from './parts.js';
import { transferredBy } from './results.js';
import { canonicalReceipts } from './canonical.js';

/** Failures that one look covers. */
const FAILURES_MAX = 200;

/**
 * Looks once more at payments that failed, until the safe head has passed everything of ours that
 * could move their money: a reorganization may put our transaction where its call succeeds, before
 * the payer spent the money or after the token was unpaused. Then the payer has paid, and gets the
 * reply by sending the same payment again.
 *
 * @returns the ids of the payments that are settled after all.
 */
export async function reverseFailures(parts: SettlementParts): Promise<readonly string[]> {
  const { books, chain, log } = parts;
  const failures = await books.failures.open(FAILURES_MAX);
  if (failures.length === 0) return [];
  const safe = await chain.block('safe');
  const reversed: string[] = [];
  const closed: string[] = [];
  for (const failure of failures) {
    const { payment, carriers } = failure;
    const receipts = await Promise.all(carriers.map((hashes) => canonicalReceipts(chain, hashes)));
    const proof = receipts.flat().find((receipt) => receipt && isTransfer(failure, receipt));
    if (proof) {
      log.error({ payment: payment.id, transaction: proof.hash }, 'a failed payment was made');
      await books.failures.reverse(payment.id, proof.hash, proof.block);
      reversed.push(payment.id);
    } else if (isOver(failure, receipts, safe)) closed.push(payment.id);
  }
  if (closed.length > 0) await books.failures.close(closed);
  return reversed;
}

function isTransfer({ payment }: OpenFailure, { succeeded, logs }: Receipt): boolean {
  return succeeded && transferredBy([payment.authorization], logs)[0] === true;
}

/** Whether every nonce that carried it is used for good, or its window has closed for good. */
function isOver(
  { payment }: OpenFailure,
  receipts: readonly (readonly (Receipt | undefined)[])[],
  safe: BlockFacts,
): boolean {
  const isSafe = (receipt: Receipt | undefined) => receipt && receipt.block.number <= safe.number;
  return (
    safe.timestamp >= payment.authorization.validBefore ||
    receipts.every((ofOneNonce) => ofOneNonce.some(isSafe))
  );
}
