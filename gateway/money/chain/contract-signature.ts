import { createPublicClient, custom } from 'viem';
import type { Address, Hex } from '../../ground/domain/units.js';
import { ChainUnreachable, type ChainClient } from './client.js';

/** Longest time for one question to the chain, in milliseconds. */
const DEADLINE_MS = 3_000;

/**
 * Runs a contract wallet's own check of a signature (ERC-1271), of a wallet not yet deployed too
 * (ERC-6492), in an `eth_call`. `unknown` while the chain is out of reach.
 */
export async function askContract(
  client: Pick<ChainClient, 'request'>,
  signed: { readonly hash: Hex; readonly address: Address; readonly signature: Hex },
): Promise<'yes' | 'no' | 'unknown'> {
  const failures: unknown[] = [];
  const request = async ({ method, params }: { method: string; params?: unknown }) => {
    try {
      return await client.request(method, Array.isArray(params) ? params : [], {
        deadlineMs: DEADLINE_MS,
      });
    } catch (error) {
      failures.push(error);
      throw error;
    }
  };
  const viem = createPublicClient({ transport: custom({ request }, { retryCount: 0 }) });
  try {
    if (await viem.verifyHash(signed)) return 'yes';
  } catch {
    // What is no signature at all is no signature of this wallet either.
  }
  return failures.some((error) => error instanceof ChainUnreachable) ? 'unknown' : 'no';
}
