import { expect, test } from '@jest/globals';
import { errorTexts } from '../../gateway/edge/console/reference/error-texts.js';
import { guides } from '../../gateway/edge/console/reference/guides.js';
import { REFUSALS } from '../../gateway/ground/domain/refusal.js';

test('the page of errors has every code with a sentence of its own, from docs/errors.md', () => {
  const texts = errorTexts();
  expect(texts.map(([code]) => code)).toEqual(Object.keys(REFUSALS));
  const unsaid = texts.filter(([, { what }]) => what.includes('`detail` says it'));
  expect(unsaid).toEqual([]);
  const page = guides('https://search.example').find(({ path }) => path === '/docs/errors');
  for (const [code] of texts) expect(page?.body.text).toContain(`id="${code}"`);
});
