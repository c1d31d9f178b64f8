import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Made } from './make.js';
import { MANIFEST_FILE } from './manifest.js';

const OURS = /^search402-\d{8}T\d{6}Z$/;

/** Removes finished backups beyond the newest; nothing else in the folder is touched. */
export function removeOld(into: string, keep: number): readonly string[] {
  const old = readdirSync(into)
    .filter((name) => OURS.test(name) && existsSync(join(into, name, MANIFEST_FILE)))
    .sort()
    .reverse()
    .slice(keep);
  for (const name of old) rmSync(join(into, name), { recursive: true });
  return old;
}

export function madeJson(
  { folder, manifest, bytes, matched, notes }: Made,
  removed: readonly string[],
): string {
  const { madeAt, version, engine, index, tables, lock } = manifest;
  const isEncrypted = lock !== undefined;
  const facts = { folder, madeAt, version, engine, bytes, isEncrypted, tables, index };
  return `${JSON.stringify({ ...facts, matchedOnChain: matched, notes, removed })}\n`;
}

export function madeText(
  { folder, manifest, bytes, matched, notes }: Made,
  removed: readonly string[],
): string {
  const { tables, index, lock } = manifest;
  const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`;
  const mib = (bytes / 1024 / 1024).toFixed(1);
  const lines = [
    folder,
    `  ${count(tables.payments ?? 0, 'payment')}, ${count(rows, 'row')} in ${Object.keys(tables).length} tables`,
    index ? `  ${count(index.pages, 'page')} in the index` : '  no index',
    `  ${mib} MiB${lock ? ', encrypted' : ''}`,
    '  Put back into a temporary folder: all rules hold.',
    ...(matched === undefined
      ? []
      : [
          `  Compared with the chain: ${count(matched, 'settled payment')} of the last day, none missing.`,
        ]),
    ...notes.map((note) => `  ${note}`),
    ...removed.map((name) => `  Removed ${name}.`),
  ];
  return `${lines.join('\n')}\n`;
}
