import { encodeAbiParameters, hashTypedData, keccak256, parseAbi, parseAbiParameters } from 'viem';

/** The settlement contract of x402's `batch-settlement` scheme, at this address on every chain. */
export const BATCH_SETTLEMENT_ADDRESS = '0x4020074e9df2ce1dee5a9c1b5c3f541d02a10003';

/** What brings deposits by EIP-3009 to the settlement contract, at this address on every chain. */
export const DEPOSIT_COLLECTOR_ADDRESS = '0x4020806089470a89826cb9fb1f4059150b550004';

/** The bounds of a channel's withdrawal delay, in seconds. */
export const WITHDRAW_DELAY_SECONDS_MIN = 900;
export const WITHDRAW_DELAY_SECONDS_MAX = 2_592_000;

const STRUCTS = [
  'struct ChannelConfig { address payer; address payerAuthorizer; address receiver; address receiverAuthorizer; address token; uint40 withdrawDelay; bytes32 salt; }',
  'struct Voucher { ChannelConfig channel; uint128 maxClaimableAmount; }',
  'struct VoucherClaim { Voucher voucher; bytes signature; uint128 totalClaimed; }',
] as const;

/**
 * The settlement contract. Amounts are units of the token, times are seconds. Source: the x402
 * project's `x402BatchSettlement`; `src/BatchSettlement.sol` stands in for it on the development
 * chain and has the rules in words.
 */
export const batchSettlementAbi = parseAbi([
  ...STRUCTS,
  'function deposit(ChannelConfig config, uint128 amount, address collector, bytes collectorData)',
  'function claim(VoucherClaim[] voucherClaims)',
  'function claimWithSignature(VoucherClaim[] voucherClaims, bytes authorizerSignature)',
  'function settle(address receiver, address token)',
  'function refund(ChannelConfig config, uint128 amount)',
  'function refundWithSignature(ChannelConfig config, uint128 amount, uint256 nonce, bytes receiverAuthorizerSignature)',
  'function initiateWithdraw(ChannelConfig config, uint128 amount)',
  'function finalizeWithdraw(ChannelConfig config)',
  'function multicall(bytes[] data) returns (bytes[] results)',
  'function channels(bytes32 channelId) view returns (uint128 balance, uint128 totalClaimed)',
  'function pendingWithdrawals(bytes32 channelId) view returns (uint128 amount, uint40 initiatedAt)',
  'function refundNonce(bytes32 channelId) view returns (uint256)',
  'function receivers(address receiver, address token) view returns (uint128 totalClaimed, uint128 totalSettled)',
  'function getChannelId(ChannelConfig config) view returns (bytes32)',
  'function getVoucherDigest(bytes32 channelId, uint128 maxClaimableAmount) view returns (bytes32)',
  'function getRefundDigest(bytes32 channelId, uint256 nonce, uint128 amount) view returns (bytes32)',
  'function getClaimBatchDigest(VoucherClaim[] voucherClaims) view returns (bytes32)',
  'event Deposited(bytes32 indexed channelId, address indexed sender, uint128 amount, uint128 newBalance)',
  'event Claimed(bytes32 indexed channelId, address indexed sender, uint128 claimAmount, uint128 newTotalClaimed)',
  'event Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount)',
  'event Refunded(bytes32 indexed channelId, address indexed sender, uint128 amount)',
  'event WithdrawInitiated(bytes32 indexed channelId, uint128 amount, uint40 finalizeAfter)',
  'event WithdrawFinalized(bytes32 indexed channelId, address indexed sender, uint128 amount)',
  'error InvalidChannel()',
  'error WithdrawDelayOutOfRange()',
  'error InvalidCollector()',
  'error ZeroDeposit()',
  'error DepositCollectionFailed()',
  'error EmptyBatch()',
  'error NotAuthorizedToClaim()',
  'error NotReceiverAuthorizer()',
  'error InvalidSignature()',
  'error ClaimExceedsCeiling()',
  'error ClaimExceedsBalance()',
  'error NotAuthorizedToRefund()',
  'error InvalidRefundNonce()',
  'error ZeroRefund()',
  'error NotAuthorizedToWithdraw()',
  'error NothingToWithdraw()',
  'error WithdrawAmountExceedsAvailable()',
  'error WithdrawalAlreadyPending()',
  'error WithdrawalNotPending()',
  'error WithdrawDelayNotElapsed()',
]);

/** A channel: its EIP-712 hash is its id, so that none of these can change (EIP-712, `ChannelConfig`). */
export interface ChannelConfig {
  readonly payer: `0x${string}`;
  /** Signs vouchers by plain ECDSA; the zero address leaves that to the payer (ERC-1271). */
  readonly payerAuthorizer: `0x${string}`;
  readonly receiver: `0x${string}`;
  /** Signs claims and refunds; not the zero address. */
  readonly receiverAuthorizer: `0x${string}`;
  readonly token: `0x${string}`;
  /** Seconds, from 900 to 2,592,000. */
  readonly withdrawDelay: number;
  readonly salt: `0x${string}`;
}

/** The EIP-712 types that the settlement contract checks signatures of. */
export const batchSettlementTypes = {
  ChannelConfig: [
    { name: 'payer', type: 'address' },
    { name: 'payerAuthorizer', type: 'address' },
    { name: 'receiver', type: 'address' },
    { name: 'receiverAuthorizer', type: 'address' },
    { name: 'token', type: 'address' },
    { name: 'withdrawDelay', type: 'uint40' },
    { name: 'salt', type: 'bytes32' },
  ],
  Voucher: [
    { name: 'channelId', type: 'bytes32' },
    { name: 'maxClaimableAmount', type: 'uint128' },
  ],
  Refund: [
    { name: 'channelId', type: 'bytes32' },
    { name: 'nonce', type: 'uint256' },
    { name: 'amount', type: 'uint128' },
  ],
  ClaimBatch: [{ name: 'claims', type: 'ClaimEntry[]' }],
  ClaimEntry: [
    { name: 'channelId', type: 'bytes32' },
    { name: 'maxClaimableAmount', type: 'uint128' },
    { name: 'totalClaimed', type: 'uint128' },
  ],
} as const;

/** The EIP-712 domain of everything but the deposit, which is signed in the token's own. */
export function batchSettlementDomain(chainId: number) {
  return {
    name: 'x402 Batch Settlement',
    version: '1',
    chainId,
    verifyingContract: BATCH_SETTLEMENT_ADDRESS,
  } as const;
}

/** The id of this channel on this chain: the whole typed-data hash, domain included. */
export function channelIdOf(config: ChannelConfig, chainId: number): `0x${string}` {
  return hashTypedData({
    domain: batchSettlementDomain(chainId),
    types: batchSettlementTypes,
    primaryType: 'ChannelConfig',
    message: config,
  });
}

/** The EIP-3009 nonce of a deposit: it names the channel, so that no other can get the tokens. */
export function depositNonce(channelId: `0x${string}`, salt: bigint): `0x${string}` {
  return keccak256(
    encodeAbiParameters(parseAbiParameters('bytes32 channelId, uint256 salt'), [channelId, salt]),
  );
}

/** What `deposit` hands to the collector. Times are Unix seconds. */
export function depositCollectorData(authorization: {
  readonly validAfter: bigint;
  readonly validBefore: bigint;
  readonly salt: bigint;
  readonly signature: `0x${string}`;
}): `0x${string}` {
  const { validAfter, validBefore, salt, signature } = authorization;
  return encodeAbiParameters(
    parseAbiParameters('uint256 validAfter, uint256 validBefore, uint256 salt, bytes signature'),
    [validAfter, validBefore, salt, signature],
  );
}
