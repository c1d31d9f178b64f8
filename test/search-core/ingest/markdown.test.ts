import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { markdownText } from '../../../search-core/ingest/markdown.js';

const textOf = (markdown: string): string => markdownText(markdown).text;

describe('Markdown as text', () => {
  test.each([
    [
      'badges vanish with their links',
      '[![build](https://ci/x.svg)](https://ci/x)\n\nWords',
      'Words',
    ],
    [
      'links keep their words only',
      'See [the `guide`\nhere](https://x.example/a_(b)) now',
      'See the guide here now',
    ],
    ['bare targets vanish', 'See [guide][1].\n\n[1]: https://x.example', 'See guide.'],
    ['emphasis loses its marks', '**Bold** and _fine_ and ~~gone~~', 'Bold and fine and gone'],
    [
      'identifiers keep theirs',
      'Call snake_case_name and 2 * 3 * 4',
      'Call snake_case_name and 2 * 3 * 4',
    ],
    ['code spans stay whole', 'Use `a **b** <c>` here', 'Use a **b** <c> here'],
    ['fenced code stays', '```js\nif (a < b) {\n  # go\n}\n```', 'if (a < b) {\n# go\n}'],
    ['HTML loses its tags', '<p align="center"><b>Hello</b> there</p>', 'Hello there'],
    [
      'scripts and comments vanish',
      'a\n\n<script>\nalert(1)\n</script>\n\n<!-- x\n\ny -->b',
      'a\n\nb',
    ],
    ['entities become characters', 'Fish &amp; chips &#8364; &lt;b&gt;', 'Fish & chips € <b>'],
    ['tables become lines', '| a | b |\n|---|---|\n| 1 | 2 |', 'a | b\n1 | 2'],
    ['tables of contents vanish', '## Contents\n\n- [One](#one)\n  - [Two](#two)\n\nText', 'Text'],
    [
      'list items become lines with their bullets and numbers',
      '1. first\n2. second\n   - inner [x] y',
      '1. first\n2. second\n- inner [x] y',
    ],
    ['quotes and alerts are prose', '> [!NOTE]\n> Mind **this**', 'NOTE Mind this'],
    ['front matter vanishes', '---\ntitle: x\n---\nText', 'Text'],
    ['rules vanish', 'a\n\n---\n\nb', 'a\n\nb'],
    ['soft line breaks are spaces', 'one\ntwo', 'one two'],
  ])('%s', (_name, markdown, text) => {
    expect(textOf(markdown)).toBe(text);
  });

  test('the first heading is found, without its marks', () => {
    expect(markdownText('text\n\n# The *one* [x](y)\n\n## two').heading).toBe('The one x');
    expect(markdownText('Title\n=====\n\ntext').heading).toBe('Title');
    expect(markdownText('# ![logo](x.png)\n\ntext').heading).toBeUndefined();
  });

  test('no input throws, and no word of plain prose is lost', () => {
    const word = fc.stringMatching(/^[a-z]{1,9}$/u);
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 40 }), (words) => {
        expect(textOf(words.join(' '))).toBe(words.join(' '));
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (noise) => {
        expect(typeof textOf(noise)).toBe('string');
      }),
    );
  });
});
