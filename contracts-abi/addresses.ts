/** USDC on Base mainnet (EIP-155 chain id 8453): a proxy in front of FiatTokenV2_2. */
export const USDC_ADDRESS = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';

/** The EIP-712 domain of that USDC, without chain id and contract. */
export const USDC_DOMAIN = { name: 'USD Coin', version: '2' } as const;

/** Multicall3, at the same address on every chain that has it. */
export const MULTICALL3_ADDRESS = '0xca11bde05977b3631167028862be2a173976ca11';

/** Base mainnet. */
export const BASE_CHAIN_ID = 8453;
