import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cleanText } from '../../search-core/passage/clean.js';
import { Describer } from '../../search-core/passage/describe.js';
import { bestParts, splitText } from '../../search-core/passage/parts.js';
import { words } from '../../search-core/analyze/tokenize.js';

const describer = (...terms: string[]) => {
  const made = new Describer(terms, new Map(terms.map((term) => [term, 1])));
  return { describe: (text: string, lengthMax: number) => made.describe('', text, lengthMax) };
};

const filler = (topic: string, sentences: number): string =>
  Array.from({ length: sentences }, (_, n) => `Sentence ${n} is about ${topic} only.`).join(' ');

describe('a description', () => {
  test('is the whole text where that fits', () => {
    const text = 'One.\n\nTwo about roses.';
    expect(describer('roses').describe(text, 1000)).toBe(text);
  });

  test('holds the best passages in page order, with an ellipsis on a line between them', () => {
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
    expect(found.slice(june, prune)).toContain('\n…\n');
    for (const passage of found.split('\n…\n')) {
      expect(passage).toMatch(/^(Sentence|Roses|Prune)/);
      expect(passage).toMatch(/\.$/);
    }
  });

  test('is one contiguous passage where one place says it all, and not a shard from each', () => {
    const aside = (n: number): string => `${filler(`topic ${n}`, 6)} A rose is named here.`;
    const asides = Array.from({ length: 30 }, (_, n) => aside(n));
    const place = 'The gardener says: in June, water each rose with 4 litres a day.';
    asides.splice(15, 0, place);
    const found = describer('gardener', 'june', 'rose', 'water').describe(
      asides.join('\n\n'),
      1000,
    );
    expect(found).toContain(place);
    expect(found).not.toContain('…');
  });

  test('shows a section with its heading, and never ends with a heading', () => {
    const sections = Array.from(
      { length: 40 },
      (_, n) => `Section ${n}\n\n${filler(`subject ${n}`, 3)}`,
    );
    sections.splice(20, 0, `Pruning roses\n\n${filler('shears', 3)}`);
    const found = describer('pruning', 'roses').describe(sections.join('\n\n'), 1000);
    expect(found).toContain(`Pruning roses\n\n${filler('shears', 3)}`);
    expect(found).toMatch(/\.$/);
  });

  test('keeps the lines of lists, tables and code as they stand in the page', () => {
    const list = ['Tools for roses:', '', '- shears, 20 cm', '- gloves', '- a saw'].join('\n');
    const code = ['if (rose.isDry) {', 'water(rose, 4);', '}'].join('\n');
    const table = ['Month | Water', 'June | 4 l', 'July | 6 l'].join('\n');
    const text = [filler('weather', 60), list, code, table, filler('travel', 60)].join('\n\n');
    const found = describer('roses', 'gloves', 'july').describe(text, 1000);
    expect(found).toContain([list, code, table].join('\n\n'));
  });

  test('says nothing twice that the page repeats', () => {
    const notice = 'Roses are sold by the gardener only.';
    const text = Array.from({ length: 30 }, (_, n) =>
      [filler(`topic ${n}`, 40), notice].join('\n\n'),
    ).join('\n\n');
    const found = describer('roses', 'gardener').describe(text, 1000);
    expect(found.split(notice)).toHaveLength(2);
  });

  test('prefers the sentence with a number to one with the same words alone', () => {
    const vague = 'The roses need water every day in the summer months.';
    const exact = 'The roses need 4 litres of water in June, says Anna Field.';
    const text = [
      filler('weather', 30),
      vague,
      filler('cooking', 30),
      exact,
      filler('travel', 30),
    ].join('\n\n');
    const found = describer('roses', 'water').describe(text, 100);
    expect(found).toContain(exact);
    expect(found).not.toContain(vague);
  });

  test('prefers the words that the title does not say', () => {
    const named = 'The rose garden is open. The rose garden is a rose garden.';
    const asked = 'The upkeep of such a garden has a small cost.';
    const text = [filler('weather', 30), named, filler('cooking', 30), asked].join('\n\n');
    const words = ['rose', 'garden', 'upkeep', 'cost'];
    const weights = new Map(words.map((word) => [word, 1]));
    const found = new Describer(words, weights).describe('The rose garden', text, 100);
    expect(found).toContain(asked);
    expect(found).not.toContain(named);
  });

  test('does not begin or end within an abbreviation', () => {
    const law = 'The tax on roses rose in 1954 (68 Stat. 219; D.C. Code § 29).';
    const text = [filler('weather', 60), `${law} ${filler('travel', 60)}`].join('\n\n');
    for (const length of [100, 300, 1000]) {
      const found = describer('roses', 'code').describe(text, length);
      expect(found).toContain(law);
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
        for (const passage of found.split('\n…\n')) {
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

test('of two places with all of the words, the parts with the one where they stand close win', () => {
  const found = bestParts(
    [1000, 1000, 1000, 1000, 1000, 1000],
    [
      { idf: 2, words: Int32Array.of(10, 4010) },
      { idf: 5, words: Int32Array.of(900, 4012) },
    ],
  );
  expect(found.from).toBeGreaterThanOrEqual(3);
});

test('a long text is cut into parts where a sentence ends', () => {
  const parts = splitText(filler('roses', 2_000));
  expect(parts.length).toBeGreaterThan(5);
  for (const part of parts) expect(part).toMatch(/^Sentence .*\. ?$/s);
});

test('clean text has single spaces, lines and paragraphs', () => {
  expect(cleanText(' a\t b\u00a0c \r\n d\n\n \n e\u0000f ')).toBe('a b c\nd\n\nef');
});
