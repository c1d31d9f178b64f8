import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hashTypedData, recoverAddress } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { isRefusal } from '../../../gateway/ground/domain/refusal.js';
import {
  address,
  bytes32,
  parseUint256,
  unixSeconds,
  usdcUnits,
  type Hex,
} from '../../../gateway/ground/domain/units.js';
import type { Authorization } from '../../../gateway/money/payment/authorization.js';
import {
  createDigest,
  createRecover,
  recoverSigner,
  type TokenDomain,
} from '../../../gateway/money/payment/signature.js';
import { decodePaymentSignature } from '../../../gateway/money/x402/payment.js';
import { TRANSFER_TYPES } from '../../support/presented.js';

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
    ({ domain, authorization, digest, signature, header, privateKey }) => {
      const parsed = parse(domain, authorization);
      const from = address(privateKeyToAccount(privateKey).address);
      expect(createDigest(domain)(parsed)).toBe(digest);
      expect(recover(digest, signature)).toBe(from);
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

/** Bytes as hex. */
const hexOf = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`;

/** What viem, with the JavaScript of noble, makes of the same signature. */
async function reference(hash: Hex, signature: Hex): Promise<string | undefined> {
  try {
    return (await recoverAddress({ hash, signature })).toLowerCase();
  } catch {
    return undefined;
  }
}

describe('libsecp256k1 and noble agree', () => {
  const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const FIELD = 2n ** 256n - 2n ** 32n - 977n;
  const EDGES = [
    ...[0n, 1n, 2n, ORDER / 2n, ORDER / 2n + 1n, ORDER - 1n, ORDER, ORDER + 1n],
    ...[FIELD - ORDER - 1n, FIELD - ORDER, FIELD - 1n, FIELD, 2n ** 256n - 1n],
    0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  ];
  const VS = [0, 1, 2, 3, 26, 27, 28, 29, 30, 35, 255];
  const word = (value: bigint) => value.toString(16).padStart(64, '0');

  test('on whoever signed, also with s in the upper half and any spelling of v', async () => {
    let recovered = 0;
    for (let index = 0; index < 300; index += 1) {
      const account = privateKeyToAccount(hexOf(randomBytes(32)));
      const digest = hexOf(randomBytes(32));
      const signature = await account.sign({ hash: digest });
      const [r, s] = [signature.slice(2, 66), BigInt(`0x${signature.slice(66, 130)}`)];
      const odd = signature.endsWith('1c') ? 1 : 0;
      const twin = `0x${r}${word(ORDER - s)}${(28 - odd).toString(16)}` as const;
      const bare = `${signature.slice(0, 130) as Hex}0${odd}` as const;
      for (const spelling of [signature, twin, bare]) {
        expect(recoverSigner(digest, spelling)).toBe(address(account.address));
        expect(await reference(digest, spelling)).toBe(address(account.address));
        recovered += 1;
      }
    }
    expect(recovered).toBe(900);
  });

  test('on thousands of random signatures', async () => {
    let [points, none] = [0, 0];
    for (let index = 0; index < 3000; index += 1) {
      const digest = hexOf(randomBytes(32));
      const v = VS[index % VS.length] ?? 27;
      const signature = hexOf(Buffer.concat([randomBytes(64), Buffer.from([v])]));
      const expected = await reference(digest, signature);
      expect(recoverSigner(digest, signature)).toBe(expected);
      if (expected === undefined) none += 1;
      else points += 1;
    }
    expect(Math.min(points, none)).toBeGreaterThan(300);
  });

  test('on every pair of edge values, every v, and digests at the edges', async () => {
    for (const r of EDGES) {
      for (const s of EDGES) {
        for (const v of VS) {
          for (const digest of [`0x${'00'.repeat(32)}`, `0x${word(ORDER)}`] as const) {
            const signature: Hex = `0x${word(r)}${word(s)}${v.toString(16).padStart(2, '0')}`;
            expect([signature, recoverSigner(digest, signature)]).toEqual([
              signature,
              await reference(digest, signature),
            ]);
          }
        }
      }
    }
  });

  test('that other lengths are nobody’s signature', () => {
    const digest = hexOf(randomBytes(32));
    for (const length of [0, 1, 63, 64, 66, 128, 4000]) {
      expect(recoverSigner(digest, hexOf(randomBytes(length)))).toBeUndefined();
    }
  });
});

test('copies of one signature are recovered once, and the memory stays bounded', () => {
  const [vector] = vectors.authorizations;
  if (!vector) throw new Error('no vectors');
  const kept = createRecover(1);
  const first = kept(vector.digest, vector.signature);
  expect(kept(vector.digest, vector.signature)).toBe(first);
  kept(`0x${'01'.repeat(32)}`, vector.signature);
  expect(kept(vector.digest, vector.signature)).toBe(first);
});
