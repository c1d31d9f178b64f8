import { address, type Address, type TransactionHash } from '../../ground/domain/units.js';
import type { Payment } from '../ledger/payment.js';
import { DEPOSIT_COLLECTOR } from '../payment/deposit.js';
import type { ChainLog, SettlementChain } from './chain.js';
import { addressTopic, TRANSFER, transferValue } from './results.js';

/** A transfer to a payee, as the chain tells it. */
interface ChainTransfer {
  readonly transaction: TransactionHash;
  readonly block: bigint;
  readonly from: Address;
  readonly value: bigint;
}

/** The books beside the chain. */
export interface Reconciliation {
  readonly fromBlock: bigint;
  readonly toBlock: bigint;
  /** Settled payments in these blocks, and the sum of their values in atomic units. */
  readonly settled: { readonly count: number; readonly units: bigint };
  /** Transfers to the payees that are one of those payments, each counted once. */
  readonly matched: { readonly count: number; readonly units: bigint };
  /** Settled payments without their transfer: the books are wrong, or the endpoint is. */
  readonly missing: readonly Payment[];
  /** Transfers that are no payment of these books; deposits into strangers' channels are left out. */
  readonly others: readonly ChainTransfer[];
}

/** Blocks of one `eth_getLogs`. */
const LOG_BLOCKS = 2000n;

/**
 * Compares settled payments with the token's transfer logs: the sum of settled values has to be
 * the sum of the transfers that the books know. Transfers beyond those are listed.
 */
export async function reconcile(
  chain: Pick<SettlementChain, 'block' | 'logs'>,
  books: {
    readonly asset: Address;
    readonly payees: readonly Address[];
    readonly payments: AsyncIterable<Payment>;
  },
  range: { readonly fromBlock: bigint; readonly toBlock?: bigint },
): Promise<Reconciliation> {
  const { fromBlock } = range;
  const toBlock = range.toBlock ?? (await chain.block('latest')).number;
  const unmatched = new Map<string, Payment[]>();
  const settled = { count: 0, units: 0n };
  for await (const payment of books.payments) {
    const { block, transaction, authorization } = payment;
    if (!block || !transaction || block.number < fromBlock || block.number > toBlock) continue;
    settled.count += 1;
    settled.units += authorization.value;
    const key = `${transaction} ${authorization.from} ${authorization.value}`;
    unmatched.set(key, [...(unmatched.get(key) ?? []), payment]);
  }
  const matched = { count: 0, units: 0n };
  const others: ChainTransfer[] = [];
  for (let start = fromBlock; start <= toBlock; start += LOG_BLOCKS) {
    const end = start + LOG_BLOCKS - 1n;
    const logs = await chain.logs({
      address: books.asset,
      topics: [[TRANSFER], null, books.payees.map(addressTopic)],
      fromBlock: start,
      toBlock: end < toBlock ? end : toBlock,
    });
    for (const log of logs) {
      const transfer = transferOf(log);
      const key = `${transfer.transaction} ${transfer.from} ${transfer.value}`;
      if (unmatched.get(key)?.pop()) {
        matched.count += 1;
        matched.units += transfer.value;
      } else if (log.topics[2] !== addressTopic(DEPOSIT_COLLECTOR)) others.push(transfer);
    }
  }
  return { fromBlock, toBlock, settled, matched, missing: [...unmatched.values()].flat(), others };
}

function transferOf(log: ChainLog): ChainTransfer {
  return {
    transaction: log.transactionHash,
    block: log.block.number,
    from: address(`0x${log.topics[1]?.slice(26) ?? ''}`),
    value: transferValue(log),
  };
}
