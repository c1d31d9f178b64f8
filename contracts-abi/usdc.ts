import { parseAbi } from 'viem';

/**
 * The part of USDC (FiatTokenV2_2) that payments use. Source: EIP-20, EIP-3009, and the `bytes`
 * overloads that FiatTokenV2_2 added for contract accounts (ERC-1271).
 */
export const usdcAbi = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function balanceOf(address account) view returns (uint256)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function paused() view returns (bool)',
  'function isBlacklisted(address account) view returns (bool)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
]);

const AUTHORIZATION =
  'address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce';

/** EIP-3009 with the signature in three parts; for payers that sign with a key. */
export const usdcKeyAbi = parseAbi([
  `function transferWithAuthorization(${AUTHORIZATION}, uint8 v, bytes32 r, bytes32 s)`,
  `function receiveWithAuthorization(${AUTHORIZATION}, uint8 v, bytes32 r, bytes32 s)`,
  'function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
]);

/** EIP-3009 with the signature as bytes; for any payer, and the only one for contract accounts. */
export const usdcBytesAbi = parseAbi([
  `function transferWithAuthorization(${AUTHORIZATION}, bytes signature)`,
  `function receiveWithAuthorization(${AUTHORIZATION}, bytes signature)`,
  'function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)',
]);

/** What only the development token has: on real USDC these belong to its issuer. */
export const devUsdcAbi = parseAbi([
  'function mint(address to, uint256 value) returns (bool)',
  'function pause()',
  'function unpause()',
  'function blacklist(address account)',
  'function unBlacklist(address account)',
]);

const AUTHORIZATION_FIELDS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const;

/** The EIP-712 types of EIP-3009. */
export const authorizationTypes = {
  TransferWithAuthorization: AUTHORIZATION_FIELDS,
  ReceiveWithAuthorization: AUTHORIZATION_FIELDS,
  CancelAuthorization: [
    { name: 'authorizer', type: 'address' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;
