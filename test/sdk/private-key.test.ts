import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hashTypedData, keccak256 as viemKeccak, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { ConfigurationError, type Hex, type TypedData } from '../../sdk/typescript/src/index.js';
import { keccak256 } from '../../sdk/typescript/src/eth/keccak.js';
import { privateKeyAccount } from '../../sdk/typescript/src/node/private-key.js';
import { transferAuthorization } from '../../sdk/typescript/src/payment/authorization.js';

const hex = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((bytes): Hex => toHex(bytes));
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const keys = fc
  .oneof(
    hex(32).map((text) => (BigInt(text) % (ORDER - 1n)) + 1n),
    fc.constantFrom(1n, 2n, ORDER - 1n),
  )
  .map((value): Hex => `0x${value.toString(16).padStart(64, '0')}`);

const requirement = (payTo: Hex, amountUnits: bigint) => ({
  ...{ amountUnits, amountUsd: '', network: 'eip155:8453', chainId: 8453, payTo },
  asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' as const,
  ...{ maxTimeoutSeconds: 300, name: 'USD Coin', version: '2', accepted: {}, resource: undefined },
});

describe('the signer without packages', () => {
  test('hashes like Ethereum, whatever the length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(toHex(keccak256(bytes))).toBe(viemKeccak(bytes));
      }),
      { numRuns: 300 },
    );
  });

  test('signs byte for byte what viem signs', async () => {
    await fc.assert(
      fc.asyncProperty(keys, hex(20), fc.bigInt(0n, 10n ** 30n), hex(32), async (key, to, v, n) => {
        const theirs = privateKeyToAccount(key);
        const ours = privateKeyAccount(key);
        expect(ours.address).toBe(theirs.address);
        const data: TypedData = transferAuthorization(
          requirement(to, v),
          theirs.address,
          n,
          1_800_000_000,
        );
        expect(hashTypedData(data)).toMatch(/^0x/);
        expect(await ours.signTypedData(data)).toBe(await theirs.signTypedData(data));
      }),
      { numRuns: 100 },
    );
  });

  test.each(['', '0x', '0x12', `0x${'00'.repeat(32)}`, `0x${ORDER.toString(16)}`, 'g'.repeat(64)])(
    'refuses "%s" and does not repeat it',
    (text) => {
      expect(() => privateKeyAccount(text)).toThrow(ConfigurationError);
      expect(() => privateKeyAccount(text)).toThrow(/^the private key must be 32 bytes of hex$/);
    },
  );

  test('signs for nobody else', async () => {
    const ours = privateKeyAccount('11'.repeat(32));
    const data = transferAuthorization(
      requirement(`0x${'22'.repeat(20)}`, 1n),
      `0x${'33'.repeat(20)}`,
      `0x${'44'.repeat(32)}`,
      1,
    );
    await expect(ours.signTypedData(data)).rejects.toThrow('does not belong to the payer');
  });
});
