/** What the lock file promises about the packages that it names. */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

interface Entry {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

const file = new URL('../../../package-lock.json', import.meta.url);
const { packages } = JSON.parse(readFileSync(file, 'utf8')) as {
  packages: Readonly<Record<string, Entry>>;
};
const entries = Object.entries(packages).filter(([path, { link }]) => path !== '' && !link);

test('every package has a hash, save for binaries of other systems that the registry here does not have', () => {
  const unknown = entries.filter(([, { integrity }]) => integrity === undefined);
  const ours = unknown.filter(
    ([, { optional, os, cpu }]) =>
      !optional ||
      ((os?.includes('linux') ?? true) && (cpu?.includes('x64') ?? true)) ||
      (os === undefined && cpu === undefined),
  );
  expect(ours.map(([path]) => path)).toEqual([]);
  // `node scripts/lock.mjs` fills in what a registry tells; there are never more.
  expect(unknown.length).toBeLessThanOrEqual(36);
});

test('no package names a registry of its own', () => {
  expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});
