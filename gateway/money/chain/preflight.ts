import { decodeFunctionResult, encodeFunctionData, hashDomain, parseAbi } from 'viem';
import { StartError } from '../../ground/domain/start-error.js';
import type { Address, Hex } from '../../ground/domain/units.js';

/** One JSON-RPC request; rejects when there is no answer or an error. */
export type RpcRequest = (method: string, params: readonly unknown[]) => Promise<unknown>;

/** The chain or its token is not the one that the settings name: payments must not start. */
export class PreflightError extends StartError {
  override readonly name = 'PreflightError';
}

const TOKEN_ABI = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
]);

export interface ExpectedChain {
  readonly chainId: number;
  readonly asset: Address;
  readonly domain: { readonly name: string; readonly version: string };
}

/**
 * Asks the chain who it is before any money is quoted on it: its id (EIP-155), and the EIP-712
 * domain of the token, since an authorization signed for another domain can never be settled.
 * @throws PreflightError with what is expected and what was found.
 */
export async function preflight(request: RpcRequest, expected: ExpectedChain): Promise<void> {
  const chainId = await request('eth_chainId', []).then(Number, (error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new PreflightError(`RPC_URLS can’t be used: ${reason}.`, { cause: error });
  });
  if (chainId !== expected.chainId) {
    throw new PreflightError(
      `RPC_URLS point to chain ${chainId}, but payments are made on chain ${expected.chainId}.`,
    );
  }
  const call = async (functionName: 'name' | 'version' | 'DOMAIN_SEPARATOR') => {
    const data = encodeFunctionData({ abi: TOKEN_ABI, functionName });
    const result = await request('eth_call', [{ to: expected.asset, data }, 'latest']);
    return decodeFunctionResult({ abi: TOKEN_ABI, functionName, data: result as Hex });
  };
  const [name, version, separator] = await Promise.all([
    call('name'),
    call('version'),
    call('DOMAIN_SEPARATOR'),
  ]).catch((error: unknown) => {
    const reason = `The token at ${expected.asset} doesn’t behave like USDC.`;
    throw new PreflightError(reason, { cause: error });
  });
  const { domain } = expected;
  if (name !== domain.name || version !== domain.version || separator !== separatorOf(expected)) {
    throw new PreflightError(
      `The token at ${expected.asset} has the EIP-712 domain "${name}" / "${version}", ` +
        `but "${domain.name}" / "${domain.version}" is expected.`,
    );
  }
}

function separatorOf({ chainId, asset, domain }: ExpectedChain): Hex {
  return hashDomain({
    domain: { ...domain, chainId: BigInt(chainId), verifyingContract: asset },
    types: {
      EIP712Domain: [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
        { name: 'chainId', type: 'uint256' },
        { name: 'verifyingContract', type: 'address' },
      ],
    },
  });
}
