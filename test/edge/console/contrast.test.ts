import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

const css = readFileSync(new URL('../../../../console/console.css', import.meta.url), 'utf8');

/** The colours of a scheme, by the names of their variables. */
function coloursOf(block: string): ReadonlyMap<string, string> {
  const pairs = [...block.matchAll(/--([a-z]+): (#[0-9a-f]{6});/g)];
  return new Map(pairs.map(([, name = '', colour = '']) => [name, colour]));
}

const [light = '', dark = ''] = css.match(/:root \{[^}]*\}/g) ?? [];
const SCHEMES = { light: coloursOf(light), dark: coloursOf(dark) };

/** Relative luminance (WCAG 2.2, "relative luminance"). */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dim = 0, bright = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dim + 0.05);
}

describe.each(['light', 'dark'] as const)('in the %s scheme', (scheme) => {
  const colour = (name: string) => {
    const found = SCHEMES[scheme].get(name);
    if (found === undefined) throw new Error(`no --${name}`);
    return found;
  };

  test.each(['ink', 'faint', 'link', 'mark', 'good'])(
    'text in --%s can be read on the page and on a panel (WCAG 2.2, 1.4.3)',
    (name) => {
      for (const ground of ['paper', 'sheet']) {
        expect(contrast(colour(name), colour(ground))).toBeGreaterThanOrEqual(4.5);
      }
    },
  );

  test('frames of inputs and the ring of the focus stand out (WCAG 2.2, 1.4.11)', () => {
    for (const name of ['faint', 'focus']) {
      expect(contrast(colour(name), colour('paper'))).toBeGreaterThanOrEqual(3);
      expect(contrast(colour(name), colour('sheet'))).toBeGreaterThanOrEqual(3);
    }
  });
});
