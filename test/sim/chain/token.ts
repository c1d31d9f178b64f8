import { encodeErrorResult, keccak256, numberToHex, parseAbi, stringToHex } from 'viem';
import { USDC_ADDRESS } from '../../../contracts-abi/addresses.js';
import { address, type Address, type Hex } from '../../../gateway/ground/domain/units.js';
import type { SignedAuthorization } from '../../../gateway/money/payment/authorization.js';
import { isSignatureGood } from '../payers.js';
import { authorizationText, type CallResult, type ChainState, type Emitted } from './state.js';

/** USDC (FiatTokenV2_2), as far as its money moves: its rules, their order and their words. */
export const TOKEN = address(USDC_ADDRESS);

export const topic = (event: string) => keccak256(stringToHex(event));
const USED = topic('AuthorizationUsed(address,bytes32)');
const CANCELED = topic('AuthorizationCanceled(address,bytes32)');
export const TRANSFER = topic('Transfer(address,address,uint256)');

const ERROR = parseAbi(['error Error(string)']);

export const word = (value: bigint | number | boolean): Hex =>
  numberToHex(BigInt(value), { size: 32 });
const padded = (account: Address): Hex => `0x${account.slice(2).padStart(64, '0')}`;
export const returned = (data: Hex, logs: readonly Emitted[] = []): CallResult => ({
  ok: true,
  data,
  logs,
});
const REVERTS = new Map<string, CallResult>();

export function reverted(why: string): CallResult {
  const known = REVERTS.get(why);
  if (known) return known;
  const data = encodeErrorResult({ abi: ERROR, errorName: 'Error', args: [why] });
  const result: CallResult = { ok: false, data };
  REVERTS.set(why, result);
  return result;
}

/** `transferWithAuthorization` in the order in which FiatTokenV2_2 checks. */
export function transfer(
  state: ChainState,
  authorization: SignedAuthorization,
  timestamp: number,
): CallResult {
  return receive(state, authorization, timestamp, isSignatureGood(authorization));
}

/** Moves what an authorization says, whose signature was found good or not. */
export function receive(
  state: ChainState,
  authorization: SignedAuthorization,
  timestamp: number,
  isSigned: boolean,
): CallResult {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  if (state.isPaused) return reverted('Pausable: paused');
  if (state.blacklisted.has(from) || state.blacklisted.has(to))
    return reverted('Blacklistable: account is blacklisted');
  if (timestamp <= validAfter) return reverted('FiatTokenV2: authorization is not yet valid');
  if (timestamp >= validBefore) return reverted('FiatTokenV2: authorization is expired');
  const key = authorizationText(from, nonce);
  if (state.authorizations.has(key))
    return reverted('FiatTokenV2: authorization is used or canceled');
  if (!isSigned) return reverted('FiatTokenV2: invalid signature');
  const balance = state.balances.get(from) ?? 0n;
  if (balance < value) return reverted('ERC20: transfer amount exceeds balance');
  state.authorizations.set(key, 'used');
  state.balances.set(from, balance - value);
  state.balances.set(to, (state.balances.get(to) ?? 0n) + value);
  return returned('0x', [
    { address: TOKEN, topics: [USED, padded(from), nonce], data: '0x' },
    transferLog(from, to, value),
  ]);
}

export function transferLog(from: Address, to: Address, value: bigint): Emitted {
  return { address: TOKEN, topics: [TRANSFER, padded(from), padded(to)], data: word(value) };
}

/** `cancelAuthorization`, once its signature was found good. */
export function cancel(state: ChainState, payer: Address, nonce: Hex): CallResult {
  const key = authorizationText(payer, nonce);
  if (state.authorizations.has(key))
    return reverted('FiatTokenV2: authorization is used or canceled');
  state.authorizations.set(key, 'cancelled');
  return returned('0x', [{ address: TOKEN, topics: [CANCELED, padded(payer), nonce], data: '0x' }]);
}
