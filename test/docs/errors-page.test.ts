import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { ERROR_TEXTS } from '../../gateway/edge/console/reference/error-texts.js';

test('the page of errors and docs/errors.md say the same', () => {
  const file = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
  const rows = [...file.matchAll(/^\| `(\w+)` +\| \d+ +\| (.*?) +\| (.*?) +\|$/gm)];
  const written = rows.map(([, code = '', what = '', next = '']) => [
    code,
    { what, next: next.replaceAll('**', '') },
  ]);
  expect(Object.fromEntries(written)).toEqual(ERROR_TEXTS);
});
