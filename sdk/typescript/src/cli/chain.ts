import type { Hex } from '../hex.js';

const TIMEOUT_MS = 10_000;
/** Selector of ERC-20 `balanceOf(address)`. */
const BALANCE_OF = '0x70a08231';

/** One JSON-RPC call (EIP-1474); throws with a sentence when it fails. */
async function call(rpcUrl: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const answer = (await response.json()) as { result?: unknown; error?: { message?: string } };
  if (answer.result === undefined) throw new Error(answer.error?.message ?? `${method} failed`);
  return answer.result;
}

const number = (value: unknown) => Number(BigInt(String(value)));

export async function chainId(rpcUrl: string): Promise<number> {
  return number(await call(rpcUrl, 'eth_chainId', []));
}

/** Unix time in seconds of the latest block. */
export async function chainSeconds(rpcUrl: string): Promise<number> {
  const block = (await call(rpcUrl, 'eth_getBlockByNumber', ['latest', false])) as {
    timestamp?: unknown;
  };
  return number(block.timestamp);
}

/** What an address holds of a token, in its atomic units. */
export async function tokenBalance(rpcUrl: string, token: Hex, owner: Hex): Promise<bigint> {
  const data = BALANCE_OF + owner.slice(2).toLowerCase().padStart(64, '0');
  return BigInt(String(await call(rpcUrl, 'eth_call', [{ to: token, data }, 'latest'])));
}
