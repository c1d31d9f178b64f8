import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  BLOCK,
  bitsFor,
  pack,
  unpack,
  unpackAscending,
  unpackSome,
} from '../../search-core/index/codec/bitpack.js';
import { ByteReader, ByteWriter } from '../../search-core/index/codec/varint.js';
import { sortedStrings } from '../../search-core/index/sort.js';
import { LENGTHS, lengthCode } from '../../search-core/rank/bm25f.js';

const block = (max: number): fc.Arbitrary<Int32Array> =>
  fc.int32Array({ min: 0, max, minLength: BLOCK, maxLength: BLOCK });

describe('packed blocks', () => {
  test.each(Array.from({ length: 32 }, (_, bits) => bits))(
    'values of %d bits come back, at any place',
    (bits) => {
      fc.assert(
        fc.property(block(2 ** bits - 1), fc.nat(9), fc.nat(9), (values, from, at) => {
          const source = new Int32Array(from + BLOCK + 1).fill(-1);
          source.set(values, from);
          const width = bitsFor(source, from);
          expect(width).toBeLessThanOrEqual(bits);
          const words = new Int32Array(at + 4 * 32 + 1).fill(-1);
          expect(pack(source, width, words, at, from)).toBe(4 * width);
          expect(words[at + 4 * width]).toBe(-1);
          const out = new Int32Array(BLOCK);
          unpack(words, at, width, out);
          expect(out).toEqual(values);
        }),
        { numRuns: 20 },
      );
    },
  );

  test('gaps come back as ascending values', () => {
    fc.assert(
      fc.property(block(1_000), fc.integer({ min: -1, max: 1e6 }), (gaps, base) => {
        const width = bitsFor(gaps);
        const words = new Int32Array(129);
        pack(gaps, width, words, 0);
        const out = new Int32Array(BLOCK);
        unpackAscending(words, 0, width, out, base);
        let expected = base;
        expect(Array.from(out)).toEqual(Array.from(gaps, (gap) => (expected += gap + 1)));
      }),
    );
  });

  test('some of the gaps come back as ascending values, from any place', () => {
    const max = fc.integer({ min: 0, max: 23 }).map((bits) => 2 ** bits - 1);
    fc.assert(
      fc.property(
        max.chain(block),
        fc.nat(BLOCK - 1),
        fc.nat(BLOCK),
        fc.integer({ min: -1, max: 1e6 }),
        (gaps, first, length, base) => {
          const count = Math.min(length, BLOCK - first);
          const width = bitsFor(gaps);
          const words = new Int32Array(3 + 4 * 32).fill(-1);
          pack(gaps, width, words, 3);
          const out = new Int32Array(BLOCK + 1);
          const last = unpackSome(words, 3, width, first, count, out, 1, base);
          let expected = base;
          const wanted = gaps.slice(first, first + count).map((gap) => (expected += gap + 1));
          expect(out.slice(1, count + 1)).toEqual(wanted);
          expect(last).toBe(wanted.at(-1) ?? base);
        },
      ),
    );
  });
});

test('varints up to 2^53 − 1 come back in a row', () => {
  fc.assert(
    fc.property(fc.array(fc.maxSafeNat()), (values) => {
      const writer = new ByteWriter(1);
      for (const value of values) writer.varint(value);
      const reader = new ByteReader(writer.view());
      expect(values.map(() => reader.varint())).toEqual(values);
      expect(reader.at).toBe(writer.length);
    }),
  );
});

test('byte strings are sorted as Buffer.compare sorts them', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ min: 1, max: 3, maxLength: 6 })), (strings) => {
      let end = 0;
      const ends = Int32Array.from(strings, ({ length }) => (end += length));
      const order = sortedStrings(Buffer.concat(strings), ends, strings.length);
      const sorted = Array.from(order, (n) => Buffer.from(strings[n] ?? []));
      expect(sorted).toEqual([...sorted].sort((a, b) => Buffer.compare(a, b)));
      expect([...order].sort((a, b) => a - b)).toEqual([...strings.keys()]);
    }),
  );
});

test('a length code says at most 5 % less than the length', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000 }), (words) => {
      const length = LENGTHS[lengthCode(words)] ?? 0;
      expect(length).toBeLessThanOrEqual(words + 1e-6);
      expect(length).toBeGreaterThan(words / 1.0501 - 1e-6);
    }),
  );
});
