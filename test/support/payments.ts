import { randomBytes } from 'node:crypto';
import { address, bytes32, unixSeconds, usdcUnits } from '../../gateway/ground/domain/units.js';
import type { RequestBinding, StoredReply } from '../../gateway/money/ledger/payment.js';
import type { SignedAuthorization } from '../../gateway/money/payment/authorization.js';

const hex = (length: number) => `0x${randomBytes(length).toString('hex')}` as const;

/** An authorization with a random payer and nonce; its signature is no more than its shape. */
export function someAuthorization(changes: Partial<SignedAuthorization> = {}): SignedAuthorization {
  return {
    chainId: 8453,
    asset: address('0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'),
    from: address(hex(20)),
    to: address('0x00000000000000000000000000000000000000aa'),
    value: usdcUnits(50n),
    validAfter: unixSeconds(0),
    validBefore: unixSeconds(Math.floor(Date.now() / 1000) + 300),
    nonce: bytes32(hex(32)),
    signature: hex(65),
    ...changes,
  };
}

export const BINDING: RequestBinding = `0x${'11'.repeat(32)}`;

export function someReply(text = '{"results":[]}'): StoredReply {
  return { body: new TextEncoder().encode(text), contentType: 'application/json', requestId: 'r1' };
}
