import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { Hex } from '../../sdk/typescript/src/index.js';
import { privateKeyAccount } from '../../sdk/typescript/src/node/index.js';
import {
  paymentHeader,
  transferAuthorization,
} from '../../sdk/typescript/src/payment/authorization.js';
import { decodeJson } from '../../sdk/typescript/src/payment/base64.js';
import { readChallenge } from '../../sdk/typescript/src/payment/challenge.js';
import { proofHeader, statusRequest } from '../../sdk/typescript/src/payment/inquiry.js';
import { readReceipt } from '../../sdk/typescript/src/payment/verdict.js';

interface Vectors {
  readonly authorizations: readonly {
    readonly name: string;
    readonly privateKey: string;
    readonly domain: {
      readonly name: string;
      readonly version: string;
      readonly chainId: number;
      readonly verifyingContract: Hex;
    };
    readonly authorization: Record<'value' | 'validAfter' | 'validBefore', string> &
      Record<'from' | 'to' | 'nonce', Hex>;
    readonly signature: string;
    readonly payment: { readonly resource?: unknown; readonly accepted?: object };
  }[];
  readonly challenges: readonly { readonly header: string; readonly object: { error?: string } }[];
  readonly receipts: readonly {
    readonly header: string;
    readonly object: { success: boolean; transaction: string; errorReason?: string };
  }[];
}
const vectors = JSON.parse(readFileSync('test/vectors/x402.json', 'utf8')) as Vectors;

describe('the vectors that gateway and SDKs share', () => {
  test.each(vectors.authorizations)('signing: $name', async (vector) => {
    const { domain, authorization, payment } = vector;
    const requirement = {
      ...{ amountUnits: BigInt(authorization.value), amountUsd: '', network: '' },
      ...{ chainId: domain.chainId, asset: domain.verifyingContract, payTo: authorization.to },
      ...{ maxTimeoutSeconds: 300, name: domain.name, version: domain.version },
      ...{ accepted: payment.accepted ?? {}, resource: payment.resource },
    };
    const ours = transferAuthorization(
      requirement,
      authorization.from,
      authorization.nonce,
      Number(authorization.validBefore),
    );
    const validAfter = BigInt(authorization.validAfter);
    const data = { ...ours, message: { ...ours.message, validAfter } };
    const signature = await privateKeyAccount(vector.privateKey).signTypedData(data);
    expect(signature).toBe(vector.signature);
    expect(decodeJson(paymentHeader(requirement, data, signature))).toEqual(payment);
  });

  test('challenges are read', () => {
    for (const { header, object } of vectors.challenges) {
      const challenge = readChallenge(new Headers({ 'payment-required': header }));
      expect(challenge?.requirements).toMatchObject([{ amountUnits: 50n, chainId: 8453 }]);
      expect(challenge?.error).toBe(object.error);
    }
  });

  test('receipts are read', () => {
    for (const { header, object } of vectors.receipts) {
      expect(readReceipt(new Headers({ 'payment-response': header }))).toEqual({
        success: object.success,
        transaction: object.transaction,
        reason: object.errorReason,
      });
    }
  });
});

interface ProofVector {
  readonly name: string;
  readonly privateKey: string;
  readonly domain: { readonly chainId: number };
  readonly message: {
    readonly payer: Hex;
    readonly nonce: Hex;
    readonly issuedAt: number;
    readonly audience: string;
  };
  readonly signature: string;
  readonly header: string;
}
const { proofs } = JSON.parse(readFileSync('test/vectors/payment-status.json', 'utf8')) as {
  readonly proofs: readonly ProofVector[];
};

test.each(proofs)('a proof is signed: $name', async (vector) => {
  const { payer, nonce: id, issuedAt, audience } = vector.message;
  const network = `eip155:${vector.domain.chainId}`;
  const data = statusRequest({ payer, id, network }, audience, issuedAt);
  const signature = await privateKeyAccount(vector.privateKey).signTypedData(data);
  expect(signature).toBe(vector.signature);
  expect(proofHeader(data, signature)).toBe(vector.header);
});
