import type { TransactionHash } from '../../ground/domain/units.js';
import type { Payment } from '../ledger/payment.js';
import type { ChainLog, Receipt } from './chain.js';
import type { SettlementParts } from './parts.js';
import { addressTopic, TRANSFER, transferredBy } from './results.js';
import { canonicalReceipts } from './canonical.js';

/** Settled payments that one look covers. */
const PAYMENTS_MAX = 1000;
/** Blocks of one `eth_getLogs`. */
const LOG_BLOCKS = 2000n;

/**
 * Follows settled transfers to the safe head. One query of the payees' transfer logs confirms all
 * of them whose blocks are the recorded ones. Only a transaction that is missing there, or that is
 * in another block now, is asked for by its hash: without a receipt in the canonical chain it
 * counts as reorganized, and in another block some of its calls may fail that succeeded before.
 *
 * @returns the payments whose transfers vanished; they are recorded as `reorged`.
 */
export async function followToSafeHead(parts: SettlementParts): Promise<readonly Payment[]> {
  const { chain, books, log } = parts;
  const payments = await books.unfinalPayments(PAYMENTS_MAX);
  const oldest = payments[0]?.block?.number;
  if (oldest === undefined) return [];
  const safe = await chain.block('safe');
  const seen = await transfersSince(oldest, payments, parts);
  const final: string[] = [];
  const vanished: Payment[] = [];
  for (const [hash, carried] of byTransaction(payments)) {
    const recorded = carried[0]?.block;
    const isWhereItWas = recorded && seen.get(hash)?.hash === recorded.hash;
    const now = isWhereItWas ? { block: recorded, unmade: [] } : await move(hash, carried, parts);
    if (now.unmade.length > 0) {
      log.error({ transaction: hash }, 'a settled transfer vanished in a reorganization');
      vanished.push(...now.unmade);
    }
    if (!now.block || now.block.number > safe.number) continue;
    final.push(...carried.filter((one) => !now.unmade.includes(one)).map(({ id }) => id));
  }
  if (final.length > 0) await books.outcomes.recordFinal(final);
  return vanished;
}

/** Records where a transaction is after a reorganization, and which of its payments are not there. */
async function move(
  hash: TransactionHash,
  carried: readonly Payment[],
  { chain, books }: SettlementParts,
): Promise<{ block?: Receipt['block']; unmade: readonly Payment[] }> {
  const [receipt] = await canonicalReceipts(chain, [hash]);
  if (!receipt?.succeeded) {
    await books.reorgs.recordGone(hash);
    return { unmade: carried };
  }
  const authorizations = carried.map(({ authorization }) => authorization);
  const isMade = transferredBy(authorizations, receipt.logs);
  const unmade = carried.filter((_, index) => !isMade[index]);
  await books.reorgs.recordMoved(
    hash,
    receipt.block,
    unmade.map(({ id }) => id),
  );
  return { block: receipt.block, unmade };
}

/** Where each transaction with a transfer to one of the payees is now, by transaction hash. */
async function transfersSince(
  oldest: bigint,
  payments: readonly Payment[],
  { chain }: SettlementParts,
): Promise<Map<TransactionHash, Receipt['block']>> {
  const blocks = new Map<TransactionHash, Receipt['block']>();
  for (const asset of new Set(payments.map(({ authorization }) => authorization.asset))) {
    const mine = payments.filter(({ authorization }) => authorization.asset === asset);
    const payees = [...new Set(mine.map(({ authorization }) => addressTopic(authorization.to)))];
    const logs: readonly ChainLog[] = await chain.logs({
      address: asset,
      topics: [[TRANSFER], null, payees],
      fromBlock: oldest,
      toBlock: oldest + LOG_BLOCKS - 1n,
    });
    for (const { transactionHash, block } of logs) blocks.set(transactionHash, block);
  }
  return blocks;
}

function byTransaction(payments: readonly Payment[]): Map<TransactionHash, Payment[]> {
  const groups = new Map<TransactionHash, Payment[]>();
  for (const payment of payments) {
    if (!payment.transaction) continue;
    groups.set(payment.transaction, [...(groups.get(payment.transaction) ?? []), payment]);
  }
  return groups;
}
