import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cleanText } from '../../search-core/passage/clean.js';
import { Describer } from '../../search-core/passage/describe.js';
import { bestParts, splitText } from '../../search-core/passage/parts.js';
import { words } from '../../search-core/analyze/tokenize.js';

const describer = (...terms: string[]): Describer =>
  new Describer(terms, new Map(terms.map((term) => [term, 1])));

const filler = (topic: string, sentences: number): string =>
  Array.from({ length: sentences }, (_, n) => `Sentence ${n} is about ${topic} only.`).join(' ');

describe('a description', () => {
  test('is the whole text where that fits', () => {
    const text = 'One.\n\nTwo about roses.';
    expect(describer('roses').describe(text, 1000)).toBe(text);
  });

  test('holds the best sentences in page order, with an ellipsis between', () => {
    const text = [
      filler('weather', 60),
      'Roses bloom in June.',
      filler('cooking', 60),
      'Prune roses in winter, says the gardener.',
      filler('travel', 60),
    ].join('\n\n');
    const found = describer('roses', 'gardener', 'june').describe(text, 1000);
    expect(found.length).toBeLessThanOrEqual(1000);
    expect(found.length).toBeGreaterThan(800);
    const [june, prune] = [found.indexOf('Roses bloom in June.'), found.indexOf('Prune roses')];
    expect(june).toBeGreaterThan(-1);
    expect(prune).toBeGreaterThan(june);
    expect(found.slice(june, prune)).toContain(' … ');
    for (const passage of found.split(' … ')) {
      expect(passage).toMatch(/^(Sentence|Roses|Prune)/);
      expect(passage).toMatch(/\.$/);
    }
  });

  test('starts at the top of the page where no word is in the text', () => {
    const found = describer('roses').describe(filler('weather', 100), 1000);
    expect(found).toMatch(/^Sentence 0 .*\.$/);
  });

  test('takes what can be read before a menu with the same words', () => {
    const menu = ['Home', 'Roses', 'Gardener', 'June', 'Shop', 'Contact'].join('\n');
    const prose = 'In June the gardener cuts roses.';
    const found = describer('roses', 'gardener', 'june').describe(
      [menu, filler('weather', 200), prose, filler('travel', 200)].join('\n\n'),
      100,
    );
    expect(found).toContain(prose);
    expect(found).not.toContain('Contact');
  });

  test('does not take an abbreviation or a number for the end of a sentence', () => {
    const text = `${filler('x', 60)} Use a tool, e.g. Pruner 3.5 by Dr. Rose, for roses. ${filler('y', 60)}`;
    expect(describer('roses').describe(text, 1000)).toContain(
      'Use a tool, e.g. Pruner 3.5 by Dr. Rose, for roses.',
    );
  });

  test('is never longer than asked and never ends inside a character, whatever the text is', () => {
    const character = fc.constantFrom(
      'a',
      'roses',
      ' ',
      '. ',
      '\n\n',
      '👩‍👩‍👧',
      '😀',
      'e\u0301',
      '漢',
      '!',
    );
    const text = fc.array(character, { maxLength: 900 }).map((list) => cleanText(list.join('')));
    fc.assert(
      fc.property(text, fc.integer({ min: 100, max: 400 }), (page, lengthMax) => {
        const found = describer('roses', 'a').describe(page, lengthMax);
        expect(found.length).toBeLessThanOrEqual(lengthMax);
        expect(found).toBe(Buffer.from(found).toString());
        for (const passage of found.split(' … ')) {
          expect(page).toContain(passage);
          expect(passage).not.toMatch(/^[\u0301\u200d]|\u200d$/u);
        }
        if (page.length > 0) expect(found.length).toBeGreaterThan(0);
      }),
    );
  });
});

test('parts of a text give the text when joined, and no word is in two of them', () => {
  const chunk = fc.string({ maxLength: 3_000 }).map((text) => `${text} word.\n\n`);
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 20 }), (chunks) => {
      const text = cleanText(chunks.join('').repeat(4));
      const parts = splitText(text);
      expect(parts.join('')).toBe(text);
      const counted = parts.reduce((sum, part) => sum + words(part).length, 0);
      expect(counted).toBe(words(text).length);
    }),
    { numRuns: 30 },
  );
});

test('the best parts of a long text are those with the most of the query', () => {
  const found = bestParts(
    [100, 100, 100, 100, 100, 100],
    [
      { idf: 2, words: Int32Array.of(20, 410) },
      { idf: 5, words: Int32Array.of(505) },
    ],
  );
  expect(found).toEqual({ from: 4, to: 6 });
});

test('clean text has single spaces, lines and paragraphs', () => {
  expect(cleanText(' a\t b\u00a0c \r\n d\n\n \n e\u0000f ')).toBe('a b c\nd\n\nef');
});
