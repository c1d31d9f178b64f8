import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createKey, hashKey, parseKey } from '../../../gateway/customers/keys/format.js';
import { realRandom } from '../../support/ports.js';

const fixedRandom = (bytes: Uint8Array) => ({ ...realRandom, bytes: () => bytes });

describe('API key format', () => {
  test('every made key is read back and has one length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
        const key = createKey(fixedRandom(bytes));
        expect(key).toMatch(/^s402_live_[0-9A-Za-z]{33}$/);
        expect(parseKey(key)).toBe(key);
      }),
    );
  });

  test('different random bits make different keys', () => {
    const bytes = fc.uint8Array({ minLength: 20, maxLength: 20 });
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        const same = Buffer.from(a).equals(Buffer.from(b));
        expect(createKey(fixedRandom(a)) === createKey(fixedRandom(b))).toBe(same);
      }),
    );
  });

  test('one wrong, missing or swapped character is seen without a database', () => {
    const key = createKey(realRandom);
    for (let at = 's402_live_'.length; at < key.length; at++) {
      const other = key[at] === 'x' ? 'y' : 'x';
      expect(parseKey(key.slice(0, at) + other + key.slice(at + 1))).toBeUndefined();
      expect(parseKey(key.slice(0, at) + key.slice(at + 1))).toBeUndefined();
      const [a = '', b = ''] = [key[at], key[at + 1]];
      if (a === b || b === '') continue;
      expect(parseKey(key.slice(0, at) + b + a + key.slice(at + 2))).toBeUndefined();
    }
  });

  test('no text that is not a key is taken for one, however long', () => {
    fc.assert(fc.property(fc.string(), (text) => expect(parseKey(text)).toBeUndefined()));
    expect(parseKey(`s402_live_${'A'.repeat(1_000_000)}`)).toBeUndefined();
  });

  test('the checksum is the CRC-32 and the stored form the SHA-256 that Python computes', () => {
    const key = createKey(fixedRandom(new Uint8Array(20)));
    expect(key).toBe('s402_live_0000000000000000000000000002QLTWy');
    expect(hashKey(key)).toBe('8eb1b54c821e4104450f9655a92d09d902ff8e417166ede7fe3da84a77912c7a');
  });
});
