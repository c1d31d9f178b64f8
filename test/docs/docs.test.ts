import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readConfig, SETTING_NAMES } from '../../gateway/config.js';
import { REFUSALS } from '../../gateway/domain/refusal.js';

const file = (name: string) => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8');

test('.env.example names every setting and no other, with the defaults that are in force', () => {
  const lines = file('.env.example').matchAll(/^([A-Z0-9_]+)=(.*)$/gm);
  const example: Record<string, string> = Object.fromEntries(
    [...lines].map(([, name = '', value = '']) => [name, value]),
  );
  expect(Object.keys(example).sort()).toEqual([...SETTING_NAMES].sort());
  expect(readConfig(example, [])).toEqual(readConfig({}, []));
});

test('docs/errors.md lists every code with its status, and no other', () => {
  const rows = [...file('docs/errors.md').matchAll(/^\| `([a-z_]+)` +\| +(\d{3}) +\|/gm)];
  const documented = Object.fromEntries(
    rows.map(([, code = '', status]) => [code, Number(status)] as const),
  );
  const real = Object.entries(REFUSALS).map(([code, { status }]) => [code, status]);
  expect(documented).toEqual(Object.fromEntries(real));
});
