import type { TransactionHash } from '../domain/units.js';
import type { ChainBlock, Receipt, SettlementChain } from './chain.js';

/** Base's nodes give this in place of the hash of a block that is still being made. */
const NO_HASH = `0x${'0'.repeat(64)}`;

/** Whether the block of a receipt says of itself that it is still being made. */
export const isUnhashed = ({ block }: Receipt): boolean => block.hash === NO_HASH;

/**
 * Whether the block of a receipt is in the chain that ends with `head`. Nodes that know of blocks
 * in the making (flashblocks) give receipts from them, too: preconfirmed ones, which may vanish.
 */
export function isSealed(receipt: Receipt, head: Pick<ChainBlock, 'number' | 'hash'>): boolean {
  const { number, hash } = receipt.block;
  if (isUnhashed(receipt) || number > head.number) return false;
  return number < head.number || hash === head.hash;
}

/** The receipts of these transactions in sealed blocks; undefined where there is none. */
export async function sealedReceipts(
  chain: Pick<SettlementChain, 'receipts' | 'block'>,
  hashes: readonly TransactionHash[],
): Promise<readonly (Receipt | undefined)[]> {
  const receipts = await chain.receipts(hashes);
  if (!receipts.some(Boolean)) return receipts;
  const head = await chain.block('latest');
  return receipts.map((receipt) => (receipt && isSealed(receipt, head) ? receipt : undefined));
}
