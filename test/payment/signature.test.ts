import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hashTypedData } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { isRefusal } from '../../gateway/domain/refusal.js';
import {
  address,
  bytes32,
  parseUint256,
  unixSeconds,
  usdcUnits,
  type Hex,
} from '../../gateway/domain/units.js';
import type { Authorization } from '../../gateway/payment/authorization.js';
import { createDigest, createRecover, type TokenDomain } from '../../gateway/payment/signature.js';
import { decodePaymentSignature } from '../../gateway/x402/payment.js';
import { TRANSFER_TYPES } from '../support/presented.js';

interface Vectors {
  readonly authorizations: readonly {
    readonly name: string;
    readonly privateKey: Hex;
    readonly domain: TokenDomain;
    readonly authorization: Record<
      'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce',
      string
    >;
    readonly digest: Hex;
    readonly signature: Hex;
    readonly header: string;
  }[];
  readonly malformed: readonly { readonly name: string; readonly header: string }[];
}

const vectors = JSON.parse(readFileSync('test/vectors/x402.json', 'utf8')) as Vectors;

function parse(
  domain: TokenDomain,
  raw: Vectors['authorizations'][number]['authorization'],
): Authorization {
  return {
    chainId: domain.chainId,
    asset: address(domain.verifyingContract),
    from: address(raw.from),
    to: address(raw.to),
    value: usdcUnits(parseUint256(raw.value) ?? -1n),
    validAfter: unixSeconds(Number(raw.validAfter)),
    validBefore: unixSeconds(Number(raw.validBefore)),
    nonce: bytes32(raw.nonce),
  };
}

const recover = createRecover(2);

describe('the known answers', () => {
  test.each(vectors.authorizations)(
    '$name: digest, signer and header agree',
    async ({ domain, authorization, digest, signature, header, privateKey }) => {
      const parsed = parse(domain, authorization);
      const from = address(privateKeyToAccount(privateKey).address);
      expect(createDigest(domain)(parsed)).toBe(digest);
      expect(await recover(digest, signature)).toBe(from);
      const payment = decodePaymentSignature(header);
      if (isRefusal(payment)) throw new Error(payment.detail);
      const { chainId, asset, ...transfer } = parsed;
      expect(payment.transfer).toEqual({ ...transfer, signature });
      expect(payment.accepted).toMatchObject({ network: `eip155:${chainId}` });
      expect(payment.accepted?.asset.toLowerCase()).toBe(asset);
    },
  );

  test.each(vectors.malformed)('a header with $name is malformed', ({ header }) => {
    expect(decodePaymentSignature(header)).toMatchObject({ code: 'malformed_payment' });
  });
});

test('the digest of any authorization is the one that viem computes', () => {
  const hex = (length: number) =>
    fc
      .uint8Array({ minLength: length, maxLength: length })
      .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);
  const seconds = fc.integer({ min: 0, max: 2 ** 47 - 1 });
  const any = fc.record({
    name: fc.string(),
    version: fc.string(),
    chainId: fc.integer({ min: 1, max: 2 ** 31 }),
    asset: hex(20),
    from: hex(20),
    to: hex(20),
    value: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    validAfter: seconds,
    validBefore: seconds,
    nonce: hex(32),
  });
  fc.assert(
    fc.property(any, ({ name, version, chainId, ...raw }) => {
      const verifyingContract = address(raw.asset);
      const domain = { name, version, chainId, verifyingContract };
      const authorization: Authorization = {
        chainId,
        asset: verifyingContract,
        from: address(raw.from),
        to: address(raw.to),
        value: usdcUnits(raw.value),
        validAfter: unixSeconds(raw.validAfter),
        validBefore: unixSeconds(raw.validBefore),
        nonce: bytes32(raw.nonce),
      };
      expect(createDigest(domain)(authorization)).toBe(
        hashTypedData({
          domain,
          types: TRANSFER_TYPES,
          primaryType: 'TransferWithAuthorization',
          message: {
            ...authorization,
            validAfter: BigInt(raw.validAfter),
            validBefore: BigInt(raw.validBefore),
          },
        }),
      );
    }),
  );
});

test('copies of one signature are recovered once, and the memory stays bounded', async () => {
  const [vector] = vectors.authorizations;
  if (!vector) throw new Error('no vectors');
  const first = recover(vector.digest, vector.signature);
  expect(recover(vector.digest, vector.signature)).toBe(first);
  for (const byte of ['01', '02']) void recover(`0x${byte.repeat(32)}`, vector.signature);
  const again = recover(vector.digest, vector.signature);
  expect(again).not.toBe(first);
  expect(await again).toBe(await first);
});
