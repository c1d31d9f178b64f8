import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { queryTerms, WORD_BYTES_MAX, words } from '../../search-core/analyze/tokenize.js';

describe('words', () => {
  test.each([
    ['snake_case', 'snake case'],
    ['well-known', 'well known'],
    ["don't", 'don t'],
    ['don’t', 'don t'],
    ['3.14 and 1,000', '3 14 and 1 000'],
    ['node.js', 'node js'],
    ['Café CAFE cafe\u0301', 'cafe cafe cafe'],
    ['Straße, Ærø, Łódź', 'strasse aero lodz'],
    ['ﬁle ２０２６', 'file 2026'],
    ['soft\u00adhyphen', 'softhyphen'],
    ['https://a.example/docs?x=1', 'https a example docs x 1'],
    ['Ωmega Москва', 'ωmega москва'],
    ['… — 👍', ''],
  ])('%s are %s', (text, expected) => {
    expect(words(text).join(' ')).toBe(expected);
  });

  test.each([
    ['C++', ['c++']],
    ['c# F#', ['c#', 'f#']],
    ['.NET', ['.net']],
    ['ASP.NET Core', ['asp', '.net', 'core']],
    ['internet', ['internet']],
    ['a+++b', ['a', 'b']],
    ['issue#12', ['issue', '12']],
    ['heading#', ['heading']],
    ['C', ['c']],
  ])('a query for %s asks for %j', (text, expected) => {
    expect(queryTerms(text)).toEqual(expected);
  });

  test('a long run is cut into neighbours of 64 bytes', () => {
    expect(words('x'.repeat(150)).map((word) => word.length)).toEqual([64, 64, 22]);
  });

  test('any text gives words within the limit, and the same ones again from those words', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        const found = words(text);
        for (const word of found) {
          expect(Buffer.byteLength(word)).toBeGreaterThan(0);
          expect(Buffer.from(word).length).toBeLessThanOrEqual(3 * WORD_BYTES_MAX);
        }
        if (found.every((word) => Buffer.byteLength(word) < WORD_BYTES_MAX)) {
          expect(words(found.join(' '))).toEqual(found);
        }
      }),
    );
  });
});
