import {
  decodeAbiParameters,
  decodeFunctionData,
  encodeAbiParameters,
  hashDomain,
  keccak256,
  parseAbiParameters,
  toFunctionSelector,
} from 'viem';
import {
  BASE_CHAIN_ID,
  MULTICALL3_ADDRESS,
  USDC_DOMAIN,
} from '../../../contracts-abi/addresses.js';
import { CAPPED_BATCH_ADDRESS, cappedBatchAbi } from '../../../contracts-abi/capped-batch.js';
import {
  address,
  bytes32,
  unixSeconds,
  usdcUnits,
  type Address,
  type Hex,
} from '../../../gateway/ground/domain/units.js';
import type { SignedAuthorization } from '../../../gateway/money/payment/authorization.js';
import { isBurner, payerKind } from '../payers.js';
import {
  authorizationText,
  copyState,
  type CallResult,
  type ChainState,
  type Emitted,
  type Environment,
  type GasMeter,
} from './state.js';
import { callSettlement, SETTLEMENT } from './channel-contract.js';
import { returned, reverted, TOKEN, transfer, word } from './token.js';

/**
 * The two contracts that the gateway calls, as far as it calls them: USDC (FiatTokenV2_2) and
 * Multicall3. The rules, their order and their words are those of the deployed contracts; what the
 * development token does on a real EVM is tested elsewhere.
 */
const MULTICALL = address(MULTICALL3_ADDRESS);
const CAPPED_BATCH = address(CAPPED_BATCH_ADDRESS);

const AUTHORIZATION = 'address,address,uint256,uint256,uint256,bytes32';
const selector = (signature: string) => toFunctionSelector(`function ${signature}`);
const CALL = {
  transferByKey: selector(`transferWithAuthorization(${AUTHORIZATION},uint8,bytes32,bytes32)`),
  transferByBytes: selector(`transferWithAuthorization(${AUTHORIZATION},bytes)`),
  authorizationState: selector('authorizationState(address,bytes32)'),
  balanceOf: selector('balanceOf(address)'),
  name: selector('name()'),
  version: selector('version()'),
  domainSeparator: selector('DOMAIN_SEPARATOR()'),
  aggregate3: selector('aggregate3((address,bool,bytes)[])'),
  chainId: selector('getChainId()'),
  blockNumber: selector('getBlockNumber()'),
  timestamp: selector('getCurrentBlockTimestamp()'),
  baseFee: selector('getBasefee()'),
  ether: selector('getEthBalance(address)'),
};
const CALLS = parseAbiParameters('(address target, bool allowFailure, bytes callData)[]');
const RESULTS = parseAbiParameters('(bool success, bytes returnData)[]');
const TRANSFER_BYTES = parseAbiParameters(`${AUTHORIZATION},bytes`);
const SEPARATOR = hashDomain({
  domain: { ...USDC_DOMAIN, chainId: BigInt(BASE_CHAIN_ID), verifyingContract: TOKEN },
  types: {
    EIP712Domain: [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
      { name: 'chainId', type: 'uint256' },
      { name: 'verifyingContract', type: 'address' },
    ],
  },
});

const text = (value: string): Hex => encodeAbiParameters([{ type: 'string' }], [value]);
/** Runs one call; `state` is changed only when it succeeds. */
export function callContract(
  state: ChainState,
  to: Address,
  data: Hex,
  environment: Environment,
): CallResult {
  if (to === TOKEN) return callToken(state, data, environment);
  if (to === MULTICALL) return callMulticall(state, data, environment);
  if (to === SETTLEMENT) return callSettlement(state, data, environment);
  if (to === CAPPED_BATCH && state.hasCappedBatch) return callBatch(state, data, environment);
  // An account without code takes any call.
  return returned('0x');
}

function callMulticall(state: ChainState, data: Hex, environment: Environment): CallResult {
  switch (data.slice(0, 10)) {
    case CALL.chainId:
      return returned(word(environment.chainId));
    case CALL.blockNumber:
      return returned(word(environment.number));
    case CALL.timestamp:
      return returned(word(environment.timestamp));
    case CALL.baseFee:
      return returned(word(environment.baseFee));
    case CALL.ether: {
      const wei = state.ether.get(address(`0x${data.slice(34)}`)) ?? 0n;
      return returned(word(wei > 0n ? wei : 0n));
    }
    case CALL.aggregate3:
      return aggregate(state, data, environment);
    default:
      return { ok: false, data: '0x' };
  }
}

function aggregate(state: ChainState, data: Hex, environment: Environment): CallResult {
  const [calls] = decodeAbiParameters(CALLS, `0x${data.slice(10)}`);
  const trial = copyState(state);
  const logs: Emitted[] = [];
  const results: { success: boolean; returnData: Hex }[] = [];
  for (const { target, allowFailure, callData } of calls) {
    const result = callContract(trial, address(target), callData, environment);
    // What is left is not enough for anything that comes after.
    if (environment.meter?.isExhausted) return { ok: false, data: '0x' };
    if (!result.ok && !allowFailure) return reverted('Multicall3: call failed');
    if (result.ok) logs.push(...result.logs);
    results.push({ success: result.ok, returnData: result.data });
  }
  Object.assign(state, trial);
  return returned(encodeAbiParameters(RESULTS, [results]), logs);
}

/** The code of wallets that are honest, and of those that are not. */
export const WALLET_CODE: Hex = '0x60fe01';
const BURNER_CODE: Hex = '0x60fe02';
/** What an account that delegates to a burner has for code (EIP-7702). */
export const DELEGATE_CODE: Hex = `0xef0100${'be'.repeat(20)}`;
const SLEEPER_CODE: Hex = `0xef0100${'5e'.repeat(20)}`;

/** `eth_getCode`. */
export function codeAt(state: ChainState, account: Address): Hex {
  if (account === CAPPED_BATCH) return state.hasCappedBatch ? '0x01' : '0x';
  switch (payerKind(account)) {
    case 'wallet':
      return WALLET_CODE;
    case 'burner':
      return BURNER_CODE;
    case 'delegate':
      return DELEGATE_CODE;
    case 'sleeper':
      return state.delegated.has(account) ? SLEEPER_CODE : '0x';
    case 'key':
      return '0x';
  }
}

/** `contracts-abi/src/CappedBatch.sol`. */
function callBatch(state: ChainState, data: Hex, environment: Environment): CallResult {
  const call = decodeFunctionData({ abi: cappedBatchAbi, data });
  if (call.functionName === 'codeHash') {
    const code = codeAt(state, address(call.args[0]));
    return returned(code === '0x' ? word(0) : keccak256(code));
  }
  const logs: Emitted[] = [];
  for (const { target, data: callData } of call.args[1]) {
    const { meter } = environment;
    const inner = meter && { ...meter, isExhausted: false };
    const result = callContract(state, address(target), callData, {
      ...environment,
      ...(inner && { meter: inner }),
    });
    if (meter && inner?.isExhausted) meter.cappedBurns += 1;
    if (result.ok) logs.push(...result.logs);
  }
  return returned('0x', logs);
}

function callToken(state: ChainState, data: Hex, { timestamp, meter }: Environment): CallResult {
  const at = (index: number): Hex => `0x${data.slice(10 + 64 * index, 74 + 64 * index)}`;
  const account = (index: number): Address => address(`0x${at(index).slice(26)}`);
  switch (data.slice(0, 10)) {
    case CALL.authorizationState:
      return returned(word(state.authorizations.has(authorizationText(account(0), at(1)))));
    case CALL.balanceOf:
      return returned(word(state.balances.get(account(0)) ?? 0n));
    case CALL.name:
      return returned(text(USDC_DOMAIN.name));
    case CALL.version:
      return returned(text(USDC_DOMAIN.version));
    case CALL.domainSeparator:
      return returned(SEPARATOR);
    case CALL.transferByKey: {
      const v = at(6).slice(-2);
      const signature: Hex = `0x${at(7).slice(2)}${at(8).slice(2)}${v}`;
      return transferAs(state, authorizationOf(at, signature), timestamp, meter);
    }
    case CALL.transferByBytes: {
      const signature = decodeAbiParameters(TRANSFER_BYTES, `0x${data.slice(10)}`)[6];
      return transferAs(state, authorizationOf(at, signature), timestamp, meter);
    }
    default:
      return { ok: false, data: '0x' };
  }
}

function authorizationOf(at: (index: number) => Hex, signature: Hex): SignedAuthorization {
  return {
    chainId: BASE_CHAIN_ID,
    asset: TOKEN,
    from: address(`0x${at(0).slice(26)}`),
    to: address(`0x${at(1).slice(26)}`),
    value: usdcUnits(BigInt(at(2))),
    validAfter: unixSeconds(Number(at(3))),
    validBefore: unixSeconds(Number(at(4))),
    nonce: bytes32(at(5)),
    signature,
  };
}

/** A transfer that asks the payer's code whether the signature is good, where it has any. */
function transferAs(
  state: ChainState,
  authorization: SignedAuthorization,
  timestamp: number,
  meter: GasMeter | undefined,
): CallResult {
  const { from } = authorization;
  if (!meter || !isBurner(from)) return transfer(state, authorization, timestamp);
  meter.isExhausted = true;
  meter.burners.add(from);
  return { ok: false, data: '0x' };
}
