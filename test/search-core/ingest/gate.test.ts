import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createTextSet } from '../../../search-core/ingest/dedupe/exact.js';
import { createNearSet } from '../../../search-core/ingest/dedupe/near.js';
import { distance, simhash } from '../../../search-core/ingest/dedupe/simhash.js';
import { createGate } from '../../../search-core/ingest/gate.js';
import { isEnglish } from '../../../search-core/ingest/language.js';
import { qualityFault } from '../../../search-core/ingest/quality.js';
import { prose } from '../../support/prose.js';

const page = (n: number, text: string, title = 'A title') => ({
  url: `https://x.example/${n}`,
  title,
  text,
});

describe('near duplicates', () => {
  test('are found where one word of some hundreds differs, and only there', () => {
    let found = 0;
    let mistaken = 0;
    const gate = createGate();
    for (let seed = 0; seed < 300; seed += 1) {
      const text = prose(seed, 40);
      const words = text.split(' ');
      words[(seed * 31) % words.length] = 'otherwise';
      if (gate.admit(page(seed, text)) !== undefined) mistaken += 1;
      if (gate.admit(page(1_000 + seed, words.join(' '))) === 'near_duplicate') found += 1;
    }
    // Precision comes first: a page that is not a copy must not be lost. Four of five copies are found.
    expect(mistaken).toBe(0);
    expect(found).toBeGreaterThanOrEqual(240);
  });

  test('with another title are other pages', () => {
    const gate = createGate();
    const text = prose(1, 40);
    expect(gate.admit(page(1, text, 'Combo box'))).toBeUndefined();
    expect(gate.admit(page(2, text.replace('The', 'This'), 'Check box'))).toBeUndefined();
    expect(gate.admit(page(3, text.replace('The', 'That'), 'Check box'))).toBe('near_duplicate');
  });

  test('do not come from one row that is repeated', () => {
    const row = 'name type default required pipeline input wildcard characters false '.repeat(200);
    expect(distance(simhash(row + prose(1)), simhash(row + prose(2)))).toBeGreaterThan(3);
  });

  test('are found exactly as by comparing with all, for any fingerprints', () => {
    const fingerprint = fc.record({ high: fc.nat(0xffffffff), low: fc.nat(0xffffffff) });
    const flips = fc.array(fc.nat(63), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(fingerprint, { maxLength: 30 }), fc.nat(), flips, (held, at, bits) => {
        const set = createNearSet();
        for (const one of held) set.add(one, 7);
        const base = held[at % Math.max(1, held.length)] ?? { high: 1, low: 2 };
        const probe = { ...base };
        for (const bit of bits) {
          if (bit < 32) probe.high = (probe.high ^ (1 << bit)) >>> 0;
          else probe.low = (probe.low ^ (1 << (bit - 32))) >>> 0;
        }
        expect(set.hasNear(probe, 7)).toBe(held.some((one) => distance(one, probe) <= 3));
        expect(set.hasNear(probe, 8)).toBe(false);
      }),
    );
  });

  test('holds 5,000 fingerprints and finds the last one', () => {
    const set = createNearSet();
    for (let n = 0; n < 5_000; n += 1) set.add({ high: Math.imul(n, 0x9e3779b1) >>> 0, low: n }, 0);
    expect(set.size).toBe(5_000);
    expect(set.hasNear({ high: Math.imul(4_999, 0x9e3779b1) >>> 0, low: 4_999 }, 0)).toBe(true);
  });
});

test('a set of texts finds every text it holds, however many there are', () => {
  const set = createTextSet();
  for (let n = 0; n < 20_000; n += 1) expect(set.add(`text ${n}`)).toBe(true);
  for (let n = 0; n < 20_000; n += 97) expect(set.add(`text ${n}`)).toBe(false);
});

describe('the gate', () => {
  test('remembers what an earlier part of the run let in', () => {
    const gate = createGate();
    gate.remember(page(1, prose(1)));
    expect(gate.admit(page(1, prose(2)))).toBe('duplicate_url');
    expect(gate.admit(page(2, prose(1).toUpperCase()))).toBe('duplicate_text');
  });

  test('tells English from other languages, also among code', () => {
    expect(isEnglish(prose(1))).toBe(true);
    expect(isEnglish(`const a = 1;\nlet b = a;\nfoo(bar);\n${prose(2)}`)).toBe(true);
    for (const text of [
      'Le vieux meunier décrit chaque matin le pont sur la rivière avant que le marché ouvre ses portes.',
      'El viejo molinero describe cada mañana el puente sobre el río antes de que abra el mercado.',
      'Старый мельник каждое утро описывает мост через реку, пока не откроется рынок.',
      '老磨坊主每天早上在市场开门之前描述河上的桥梁和船只。',
    ]) {
      expect(isEnglish(text.repeat(5))).toBe(false);
    }
  });

  test.each([
    ['', 'empty'],
    [' \n ', 'empty'],
    ['Welcome to our site', 'too_short'],
    [`${'1234 5678 90.12 '.repeat(60)}${'a '.repeat(30)}`, 'not_prose'],
    ['The same line again.\n'.repeat(80), 'repetitive'],
    [
      'Sorry, the page you requested was not found on this server. Try the home page, use the search box, or check the address that you typed in for mistakes.',
      'placeholder',
    ],
    [
      'Please enable JavaScript and cookies in your browser to continue to the site. This check takes some seconds and helps us to keep the robots away from here.',
      'placeholder',
    ],
  ])('%p is %s', (text, fault) => {
    expect(qualityFault(text)).toBe(fault);
  });

  test('lets reference pages pass: prose, tables, and code', () => {
    expect(qualityFault(prose(1))).toBeUndefined();
    expect(
      qualityFault(
        `abs(x)\nReturns the absolute value of a number.\n| Entry | Value |\n| CN | Meeting |\n| Size | 4 bytes |\n${prose(3, 3)}`,
      ),
    ).toBeUndefined();
  });
});
