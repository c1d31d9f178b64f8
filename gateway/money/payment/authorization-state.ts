import { encodeFunctionData } from 'viem';
import { usdcAbi } from '../../../contracts-abi/usdc.js';
import { multicall3Abi } from '../../../contracts-abi/multicall3.js';
import { unixSeconds, type Hex, type UnixSeconds } from '../../ground/domain/units.js';
import type { ChainClient } from '../chain/client.js';
import type { AuthorizationKey } from './authorization.js';
import { aggregate, MULTICALL3, readUint, type ChainCaller } from './on-chain.js';

/** What the safe head of the chain says of an authorization: no reorganization takes it back. */
export interface AuthorizationState {
  /** Whether it was used for a transfer, or canceled. */
  readonly isUsed: boolean;
  /** The time of that block: an authorization whose `validBefore` it has reached is void. */
  readonly at: UnixSeconds;
}

const DEADLINE_MS = 3_000;

/** Asks the chain; undefined when it is out of reach or does not say. */
export async function readAuthorizationState(
  client: Pick<ChainClient, 'request'>,
  { asset, from, nonce }: AuthorizationKey,
): Promise<AuthorizationState | undefined> {
  const state = { abi: usdcAbi, functionName: 'authorizationState', args: [from, nonce] } as const;
  const time = { abi: multicall3Abi, functionName: 'getCurrentBlockTimestamp' } as const;
  const calls = [
    { target: asset, data: encodeFunctionData(state) },
    { target: MULTICALL3, data: encodeFunctionData(time) },
  ];
  const outcomes = await aggregate(safeHead(client), calls, DEADLINE_MS).catch(() => []);
  const [used, at] = outcomes.map(readUint);
  if (used === undefined || at === undefined) return undefined;
  return { isUsed: used !== 0n, at: unixSeconds(Number(at)) };
}

function safeHead(client: Pick<ChainClient, 'request'>): ChainCaller {
  return {
    ethCall: async (to, data, options) =>
      (await client.request('eth_call', [{ to, data }, 'safe'], options)) as Hex,
  };
}
