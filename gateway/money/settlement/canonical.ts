import type { Bytes32, TransactionHash } from '../../ground/domain/units.js';
import type { Receipt, SettlementChain } from './chain.js';

/** Base's nodes give this in place of the hash of a block that is still being made. */
const NO_HASH = `0x${'0'.repeat(64)}`;

/**
 * Tells which receipts are of blocks that are in the chain. Nodes that know of blocks in the making
 * (flashblocks) give receipts from them, too: preconfirmed ones, which may vanish. They say so by
 * a block hash of zeros, or give a hash that the block will not have. So a hash counts when the
 * chain's block of that number has it; an answer may have been on its way while the block was made.
 *
 * @param known hashes of blocks that were found in the chain before, and need no call again.
 * @returns also the newest block's number, where there was a reason to ask for it.
 */
export async function findCanonical(
  chain: Pick<SettlementChain, 'block'>,
  receipts: readonly Receipt[],
  known: ReadonlySet<Bytes32> = new Set(),
): Promise<{ canonical: readonly Receipt[]; head: bigint | undefined }> {
  const hashed = receipts.filter(({ block }) => block.hash !== NO_HASH);
  if (hashed.length === 0) return { canonical: [], head: undefined };
  const head = await chain.block('latest');
  const older = hashed.filter(({ block }) => block.number < head.number && !known.has(block.hash));
  const numbers = [...new Set(older.map(({ block }) => block.number))];
  const blocks = [head, ...(await Promise.all(numbers.map((number) => chain.block(number))))];
  const hashes = new Set([...known, ...blocks.map(({ hash }) => hash)]);
  return { canonical: hashed.filter(({ block }) => hashes.has(block.hash)), head: head.number };
}

/** The receipts of these transactions in canonical blocks; undefined where there is none. */
export async function canonicalReceipts(
  chain: Pick<SettlementChain, 'receipts' | 'block'>,
  hashes: readonly TransactionHash[],
): Promise<readonly (Receipt | undefined)[]> {
  const receipts = await chain.receipts(hashes);
  const { canonical } = await findCanonical(
    chain,
    receipts.flatMap((receipt) => receipt ?? []),
  );
  return receipts.map((receipt) => (receipt && canonical.includes(receipt) ? receipt : undefined));
}
