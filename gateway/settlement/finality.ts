import type { TransactionHash } from '../domain/units.js';
import type { Payment } from '../ledger/payment.js';
import type { ChainLog, Receipt } from './chain.js';
import type { SettlementParts } from './parts.js';
import { addressTopic, TRANSFER } from './results.js';
import { sealedReceipts } from './sealed.js';

/** Settled payments that one look covers. */
const PAYMENTS_MAX = 1000;
/** Blocks of one `eth_getLogs`. */
const LOG_BLOCKS = 2000n;

/**
 * Follows settled transfers to the safe head. One query of the payees' transfer logs confirms
 * all of them; only a transaction that is missing there is asked for by its hash, and only one
 * that has no receipt in the canonical chain counts as reorganized.
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
    let block = seen.get(hash);
    if (!block || block.hash !== recorded?.hash) {
      block = await blockOf(hash, parts);
      if (block) await books.recordMoved(hash, block);
    }
    if (!block) {
      log.error({ transaction: hash }, 'a settled transfer vanished in a reorganization');
      await books.recordReorged(hash);
      vanished.push(...carried);
    } else if (block.number <= safe.number) final.push(...carried.map(({ id }) => id));
  }
  if (final.length > 0) await books.recordFinal(final);
  return vanished;
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

async function blockOf(
  hash: TransactionHash,
  { chain }: SettlementParts,
): Promise<Receipt['block'] | undefined> {
  const [receipt] = await sealedReceipts(chain, [hash]);
  return receipt?.succeeded ? receipt.block : undefined;
}

function byTransaction(payments: readonly Payment[]): Map<TransactionHash, Payment[]> {
  const groups = new Map<TransactionHash, Payment[]>();
  for (const payment of payments) {
    if (!payment.transaction) continue;
    groups.set(payment.transaction, [...(groups.get(payment.transaction) ?? []), payment]);
  }
  return groups;
}
