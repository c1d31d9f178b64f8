import { decodeAbiParameters, encodeAbiParameters, keccak256, toHex } from 'viem';
import type { Address, Bytes32, Hex } from '../../ground/domain/units.js';
import type { Authorization } from '../payment/authorization.js';
import type { ChainLog } from './chain.js';

const topic = (signature: string) => keccak256(toHex(signature));

/** EIP-3009: `AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)`. */
export const AUTHORIZATION_USED = topic('AuthorizationUsed(address,bytes32)');
/** EIP-20: `Transfer(address indexed from, address indexed to, uint256 value)`. */
export const TRANSFER = topic('Transfer(address,address,uint256)');

/** An address as an indexed event argument. */
export function addressTopic(account: Address): Hex {
  return `0x${account.slice(2).padStart(64, '0')}`;
}

/**
 * Reads from the logs of one transaction which authorizations' money it moved, one answer each.
 *
 * Within a call the token emits `AuthorizationUsed` and then `Transfer`, so each used
 * authorization claims the first matching transfer after it that no other has claimed. A
 * `Transfer` alone proves nothing: two payments of one payer look the same.
 */
export function transferredBy(
  authorizations: readonly Authorization[],
  logs: readonly ChainLog[],
): readonly boolean[] {
  const claimed = new Set<number>();
  return authorizations.map((authorization) => {
    const used = logs.findIndex((log) => isUse(log, authorization));
    if (used < 0) return false;
    const transfer = logs.findIndex(
      (log, index) => index > used && !claimed.has(index) && isTransfer(log, authorization),
    );
    if (transfer < 0) return false;
    claimed.add(transfer);
    return true;
  });
}

function isUse(log: ChainLog, { asset, from, nonce }: Authorization): boolean {
  const [event, authorizer, used] = log.topics;
  return (
    log.address === asset &&
    event === AUTHORIZATION_USED &&
    authorizer === addressTopic(from) &&
    used === (nonce satisfies Bytes32)
  );
}

function isTransfer(log: ChainLog, { asset, from, to, value }: Authorization): boolean {
  const [event, sender, receiver] = log.topics;
  return (
    log.address === asset &&
    event === TRANSFER &&
    sender === addressTopic(from) &&
    receiver === addressTopic(to) &&
    log.data === encodeAbiParameters([{ type: 'uint256' }], [value])
  );
}

/** The amount of a `Transfer` log, in the token's atomic units. */
export function transferValue(log: ChainLog): bigint {
  const [value] = decodeAbiParameters([{ type: 'uint256' }], log.data);
  return value;
}
