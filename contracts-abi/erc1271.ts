import { parseAbi } from 'viem';

/** The last 32 bytes of a signature for an account that is not deployed yet (ERC-6492). */
export const ERC6492_MAGIC_SUFFIX =
  '0x6492649264926492649264926492649264926492649264926492649264926492';

/** The first three bytes of the code of an account that delegates to a contract (EIP-7702). */
export const EIP7702_DELEGATION_PREFIX = '0xef0100';

/** The test wallets of `src/TestWallets.sol`. */
export const testWalletFactoryAbi = parseAbi([
  'function addressOf(address owner, bytes32 salt) view returns (address)',
  'function deploy(address owner, bytes32 salt) returns (address)',
]);
