import { defineChain } from 'viem';
import { BASE_CHAIN_ID } from '../../contracts-abi/addresses.js';

/**
 * Base, as far as viem asks for it on a local chain. `viem/chains` would bring seven hundred other
 * chains into every process that starts.
 */
export const base = defineChain({
  id: BASE_CHAIN_ID,
  name: 'Base',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  blockTime: 2_000,
  rpcUrls: { default: { http: [] } },
});
