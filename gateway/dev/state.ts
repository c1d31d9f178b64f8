import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { AnvilClient } from './funding.js';

/** A block as anvil dumps it; only what deciding about it needs. */
interface DumpedBlock {
  readonly header: { readonly number: string };
  readonly transactions: readonly unknown[];
}

/** Blocks without transactions that are older than this are not worth keeping. */
const EMPTY_BLOCKS_KEPT = 512n;

/**
 * Writes the chain's whole state to `file`, complete or not at all (a temporary file, fsync,
 * rename). Old empty blocks are left out: at one block a second they would add 140 MB a day.
 */
export async function saveState(client: AnvilClient, file: string): Promise<void> {
  const dump = await client.request<{ Method: 'anvil_dumpState'; ReturnType: `0x${string}` }>({
    method: 'anvil_dumpState',
  } as never);
  const bytes = gunzipSync(Buffer.from(dump.slice(2), 'hex'));
  const state = JSON.parse(bytes.toString('utf8')) as { blocks: DumpedBlock[] };
  const newest = state.blocks.reduce((top, block) => max(top, BigInt(block.header.number)), 0n);
  state.blocks = state.blocks.filter(
    ({ header, transactions }) =>
      transactions.length > 0 ||
      BigInt(header.number) === 0n ||
      BigInt(header.number) + EMPTY_BLOCKS_KEPT > newest,
  );
  const temporary = `${file}.tmp`;
  const descriptor = openSync(temporary, 'w');
  try {
    writeFileSync(descriptor, JSON.stringify(state));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
}

const max = (a: bigint, b: bigint) => (a > b ? a : b);
