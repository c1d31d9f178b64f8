import {
  decodeAbiParameters,
  decodeFunctionData,
  encodeErrorResult,
  parseAbiParameters,
  toFunctionSelector,
} from 'viem';
import {
  batchSettlementAbi,
  BATCH_SETTLEMENT_ADDRESS,
  DEPOSIT_COLLECTOR_ADDRESS,
} from '../../../contracts-abi/batch-settlement.js';
import { USDC_DOMAIN } from '../../../contracts-abi/addresses.js';
import {
  address,
  bytes32,
  unixSeconds,
  usdcUnits,
  type Bytes32,
  type Hex,
} from '../../../gateway/ground/domain/units.js';
import {
  createChannelDigests,
  createDepositDigest,
  depositNonce,
} from '../../../gateway/money/channels/digests.js';
import { createRecover } from '../../../gateway/money/payment/signature.js';
import type { ChannelConfig } from '../../../gateway/money/x402/channel-payload.js';
import { receive, returned, TOKEN, topic, transferLog, word } from './token.js';
import {
  copyState,
  type CallResult,
  type ChainState,
  type Emitted,
  type Environment,
  type SimChannel,
} from './state.js';

/**
 * The settlement contract of channels and its collector, as far as the gateway and the payers call
 * them: the rules of `contracts-abi/src/BatchSettlement.sol`, which a real EVM runs elsewhere.
 */
export const SETTLEMENT = address(BATCH_SETTLEMENT_ADDRESS);
const COLLECTOR = address(DEPOSIT_COLLECTOR_ADDRESS);
const CHAIN_ID = 8453;
const SIGNERS_MAX = 10_000;

const digests = createChannelDigests(CHAIN_ID);
const depositDigest = createDepositDigest({
  ...USDC_DOMAIN,
  ...{ chainId: CHAIN_ID, verifyingContract: TOKEN },
});
const recover = createRecover(SIGNERS_MAX);

const EVENTS = {
  deposited: topic('Deposited(bytes32,address,uint128,uint128)'),
  claimed: topic('Claimed(bytes32,address,uint128,uint128)'),
  settled: topic('Settled(address,address,address,uint128)'),
  refunded: topic('Refunded(bytes32,address,uint128)'),
  withdrawInitiated: topic('WithdrawInitiated(bytes32,uint128,uint40)'),
  withdrawFinalized: topic('WithdrawFinalized(bytes32,address,uint128)'),
};
const COLLECTED = parseAbiParameters(
  'uint256 validAfter, uint256 validBefore, uint256 salt, bytes signature',
);

const EMPTY: SimChannel = { balance: 0n, claimed: 0n, refundNonce: 0n };
const wordOf = (value: bigint): string => word(value).slice(2);
const event = (name: keyof typeof EVENTS, id: Hex, ...data: bigint[]): Emitted => ({
  address: SETTLEMENT,
  topics: [EVENTS[name], id],
  data: `0x${data.map(wordOf).join('')}`,
});

type ErrorName = Extract<(typeof batchSettlementAbi)[number], { type: 'error' }>['name'];
const fails = (errorName: ErrorName): CallResult => ({
  ok: false,
  data: encodeErrorResult({ abi: batchSettlementAbi, errorName }),
});

type Decoded = ReturnType<typeof decodeFunctionData<typeof batchSettlementAbi>>;
type Wire = Extract<Decoded, { functionName: 'refund' }>['args'][0];
type Rows = Extract<Decoded, { functionName: 'claim' }>['args'][0];

const configOf = (config: Wire): ChannelConfig => ({
  payer: address(config.payer),
  payerAuthorizer: address(config.payerAuthorizer),
  receiver: address(config.receiver),
  receiverAuthorizer: address(config.receiverAuthorizer),
  token: address(config.token),
  withdrawDelay: config.withdrawDelay,
  salt: bytes32(config.salt),
});

/** A channel as the contract has it; one that was never opened is empty. */
export const channelIn = (state: ChainState, id: Bytes32): SimChannel =>
  state.channels.get(id) ?? EMPTY;

const change = (state: ChainState, id: Bytes32, by: Partial<SimChannel>): void => {
  state.channels.set(id, { ...channelIn(state, id), ...by });
};

type View = (state: ChainState, at: (index: number) => Hex) => CallResult;

/** What is only read, by selector: decoding these would take most of a world's time. */
const VIEWS = new Map<string, View>([
  [
    toFunctionSelector('function channels(bytes32)'),
    (state, at) => {
      const { balance, claimed } = channelIn(state, bytes32(at(0)));
      return returned(`0x${wordOf(balance)}${wordOf(claimed)}`);
    },
  ],
  [
    toFunctionSelector('function pendingWithdrawals(bytes32)'),
    (state, at) => {
      const { withdrawal } = channelIn(state, bytes32(at(0)));
      const { amount, initiatedAt } = withdrawal ?? { amount: 0n, initiatedAt: 0 };
      return returned(`0x${wordOf(amount)}${wordOf(BigInt(initiatedAt))}`);
    },
  ],
  [
    toFunctionSelector('function refundNonce(bytes32)'),
    (state, at) => returned(word(channelIn(state, bytes32(at(0))).refundNonce)),
  ],
  [
    toFunctionSelector('function receivers(address,address)'),
    (state, at) => {
      const { claimed, settled } = receivable(state, `0x${at(0).slice(26)}`);
      return returned(`0x${wordOf(claimed)}${wordOf(settled)}`);
    },
  ],
]);

/** Runs one call; `state` is changed only when it succeeds. */
export function callSettlement(state: ChainState, data: Hex, environment: Environment): CallResult {
  const view = VIEWS.get(data.slice(0, 10));
  if (view) return view(state, (index) => `0x${data.slice(10 + 64 * index, 74 + 64 * index)}`);
  let call: Decoded;
  try {
    call = decodeFunctionData({ abi: batchSettlementAbi, data });
  } catch {
    return { ok: false, data: '0x' };
  }
  const trial = copyState(state);
  const result = run(trial, call, environment);
  if (result.ok) Object.assign(state, trial);
  return result;
}

function run(state: ChainState, call: Decoded, environment: Environment): CallResult {
  switch (call.functionName) {
    case 'deposit':
      return deposit(state, call.args, environment);
    case 'claimWithSignature':
      return claim(state, ...call.args);
    case 'settle':
      return settle(state, ...call.args);
    case 'refundWithSignature':
      return refund(state, ...call.args);
    case 'multicall':
      return multicall(state, call.args[0], environment);
    default:
      return { ok: false, data: '0x' };
  }
}

function multicall(state: ChainState, calls: readonly Hex[], environment: Environment): CallResult {
  const logs: Emitted[] = [];
  for (const data of calls) {
    const result = callSettlement(state, data, environment);
    if (!result.ok) return result;
    logs.push(...result.logs);
  }
  return returned('0x', logs);
}

function deposit(
  state: ChainState,
  [wire, amount, collector, collected]: Extract<Decoded, { functionName: 'deposit' }>['args'],
  { timestamp }: Environment,
): CallResult {
  const config = configOf(wire);
  const id = digests.channelId(config);
  const [validAfter, validBefore, salt, signature] = decodeAbiParameters(COLLECTED, collected);
  const authorization = {
    ...{ chainId: CHAIN_ID, asset: config.token, from: config.payer, to: address(collector) },
    value: usdcUnits(amount),
    validAfter: unixSeconds(Number(validAfter)),
    validBefore: unixSeconds(Number(validBefore)),
    nonce: depositNonce(id, salt),
    signature,
  };
  const isSigned = recover(depositDigest(authorization), signature) === config.payer;
  const moved = receive(
    state,
    authorization,
    timestamp,
    isSigned && authorization.to === COLLECTOR,
  );
  if (!moved.ok) return fails('DepositCollectionFailed');
  state.balances.set(COLLECTOR, 0n);
  state.balances.set(SETTLEMENT, (state.balances.get(SETTLEMENT) ?? 0n) + amount);
  const balance = channelIn(state, id).balance + amount;
  change(state, id, { balance });
  return returned('0x', [
    ...moved.logs,
    transferLog(COLLECTOR, SETTLEMENT, amount),
    event('deposited', id, amount, balance),
  ]);
}

function receivable(state: ChainState, receiver: string) {
  return state.receivers.get(address(receiver)) ?? { claimed: 0n, settled: 0n };
}

/** Rows that claim nothing new are skipped; a bad one takes all others with it. */
function claim(state: ChainState, rows: Rows, authorization: Hex): CallResult {
  if (rows.length === 0) return fails('EmptyBatch');
  const entries = rows.map(({ voucher, totalClaimed }) => ({
    channelId: digests.channelId(configOf(voucher.channel)),
    maxClaimableAmount: voucher.maxClaimableAmount,
    totalClaimed,
  }));
  const authorizer = recover(digests.claims(entries), authorization);
  const logs: Emitted[] = [];
  for (const [index, { voucher, signature, totalClaimed }] of rows.entries()) {
    const { channelId: id } = entries[index] ?? {};
    const { payerAuthorizer, receiver, receiverAuthorizer } = configOf(voucher.channel);
    if (id === undefined || receiverAuthorizer !== authorizer)
      return fails('NotReceiverAuthorizer');
    const { balance, claimed } = channelIn(state, id);
    if (totalClaimed > voucher.maxClaimableAmount) return fails('ClaimExceedsCeiling');
    if (totalClaimed <= claimed) continue;
    if (totalClaimed > balance) return fails('ClaimExceedsBalance');
    const signed = digests.voucher(id, voucher.maxClaimableAmount);
    if (recover(signed, signature) !== payerAuthorizer) return fails('InvalidSignature');
    change(state, id, { claimed: totalClaimed });
    const before = receivable(state, receiver);
    const gained = totalClaimed - claimed;
    state.receivers.set(receiver, { ...before, claimed: before.claimed + gained });
    logs.push(event('claimed', id, gained, totalClaimed));
  }
  return returned('0x', logs);
}

function settle(state: ChainState, to: string, token: string): CallResult {
  const receiver = address(to);
  const { claimed, settled } = receivable(state, receiver);
  const amount = claimed - settled;
  if (amount === 0n || address(token) !== TOKEN) return returned('0x');
  state.receivers.set(receiver, { claimed, settled: claimed });
  return returned('0x', [pay(state, receiver, amount)]);
}

/** Tokens leave the contract. */
function pay(state: ChainState, to: ReturnType<typeof address>, amount: bigint): Emitted {
  state.balances.set(SETTLEMENT, (state.balances.get(SETTLEMENT) ?? 0n) - amount);
  state.balances.set(to, (state.balances.get(to) ?? 0n) + amount);
  return transferLog(SETTLEMENT, to, amount);
}

function refund(
  state: ChainState,
  wire: Wire,
  amount: bigint,
  nonce: bigint,
  authorization: Hex,
): CallResult {
  const config = configOf(wire);
  const id = digests.channelId(config);
  const { balance, claimed, refundNonce } = channelIn(state, id);
  if (recover(digests.refund(id, nonce, amount), authorization) !== config.receiverAuthorizer)
    return fails('InvalidSignature');
  if (nonce !== refundNonce) return fails('InvalidRefundNonce');
  const free = balance - claimed;
  const given = amount < free ? amount : free;
  change(state, id, { balance: balance - given, refundNonce: refundNonce + 1n });
  const paid = given > 0n ? [pay(state, config.payer, given)] : [];
  return returned('0x', [...paid, event('refunded', id, given)]);
}

/** The payer begins to withdraw what is free when it ends. */
export function initiateWithdraw(
  state: ChainState,
  config: ChannelConfig,
  { timestamp }: Environment,
): CallResult {
  const id = digests.channelId(config);
  const { balance, claimed, withdrawal } = channelIn(state, id);
  if (withdrawal) return fails('WithdrawalAlreadyPending');
  const amount = balance - claimed;
  if (amount === 0n) return fails('NothingToWithdraw');
  change(state, id, { withdrawal: { amount, initiatedAt: timestamp } });
  const end = BigInt(timestamp + config.withdrawDelay);
  return returned('0x', [event('withdrawInitiated', id, amount, end)]);
}

/** The payer takes what is free, once the delay has passed. */
export function finalizeWithdraw(
  state: ChainState,
  config: ChannelConfig,
  { timestamp }: Environment,
): CallResult {
  const id = digests.channelId(config);
  const { balance, claimed, withdrawal } = channelIn(state, id);
  if (!withdrawal) return fails('WithdrawalNotPending');
  if (timestamp < withdrawal.initiatedAt + config.withdrawDelay)
    return fails('WithdrawDelayNotElapsed');
  const free = balance - claimed;
  const amount = withdrawal.amount < free ? withdrawal.amount : free;
  const { refundNonce } = channelIn(state, id);
  state.channels.set(id, { claimed, refundNonce, balance: balance - amount });
  return returned('0x', [pay(state, config.payer, amount), event('withdrawFinalized', id, amount)]);
}
