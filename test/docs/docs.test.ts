import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readConfig, SETTING_NAMES } from '../../gateway/wiring/config.js';
import { clientSetups, stdioSetup } from '../../gateway/edge/console/pages/connect-clients.js';
import { REFUSALS } from '../../gateway/ground/domain/refusal.js';

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

test('docs/guides/mcp.md shows each setup that the console shows', () => {
  const blocks = [...file('docs/guides/mcp.md').matchAll(/^```\w+\n([\s\S]*?)^```$/gm)];
  const shown = blocks.map(([, text = '']) => normal(text));
  const setups = clientSetups('http://localhost:4021/mcp');
  const texts = setups.flatMap(({ signIn, withKey }) => [signIn, withKey]);
  for (const text of [...texts, stdioSetup('http://localhost:4020')]) {
    expect(shown).toContain(normal(text));
  }
});

/** JSON without its line breaks, anything else without those at its end. */
function normal(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text.trim();
  }
}

test('every file and folder that ARCHITECTURE.md names from the root exists', () => {
  const roots = 'gateway|search-core|sdk|test|commands|console';
  const paths = [
    ...file('ARCHITECTURE.md').matchAll(new RegExp(`\`((?:${roots})/[^\`]+)\``, 'gu')),
  ];
  expect(paths.length).toBeGreaterThan(20);
  const missing = paths.filter(([, path]) => !existsSync(path ?? ''));
  expect(missing.map(([, path]) => path)).toEqual([]);
});
