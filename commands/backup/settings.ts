import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SETTING_NAMES } from '../../gateway/wiring/config.js';
import { SECRET_FILES, SECRET_SETTINGS } from '../../gateway/wiring/secret-settings.js';
import { BackupRefused } from './refused.js';

const HEAD = `# The settings of the gateway when the backup was made. Read them before you use them.
`;

/**
 * The settings that are set, as lines that `node --env-file` reads. Without secrets, those that hold
 * some are named and left out.
 */
export function settingsText(
  environment: NodeJS.ProcessEnv,
  { withSecrets }: { readonly withSecrets: boolean },
): string {
  const lines = SETTING_NAMES.flatMap((name) => {
    const value = environment[name] ?? '';
    if (value === '') return [];
    if (!withSecrets && SECRET_SETTINGS.has(name)) {
      return [`# ${name} was set. It holds a secret, so it is not in this backup.`];
    }
    return [`${name}=${quotedValue(value)}`];
  });
  return `${HEAD}${lines.join('\n')}\n`;
}

/** An env file takes any of three quotes, and no escape within them. */
function quotedValue(value: string): string {
  if (/^[A-Za-z0-9_./:,@%+-]*$/.test(value)) return value;
  const quote = ["'", '"', '`'].find((one) => !value.includes(one)) ?? '"';
  return `${quote}${value}${quote}`;
}

/** @throws BackupRefused when they are of a version that has others. */
export function checkSettings(text: string): void {
  const known = new Set(SETTING_NAMES);
  const names = text
    .split('\n')
    .flatMap((line) => /^(?:# )?([A-Z0-9_]+)(?:=| was set)/.exec(line)?.[1] ?? []);
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  throw new BackupRefused(
    'unknown-settings',
    `this version does not know ${unknown.join(', ')}. Put the backup back with the version that made it, or leave the settings out: --only books,index.`,
  );
}

/** Files with secrets that the settings name, and the sealing key that a start has made. */
export function secretFiles(
  environment: NodeJS.ProcessEnv,
  dataDir: string,
): readonly { readonly name: string; readonly place: string }[] {
  const named = SECRET_FILES.flatMap((setting) => {
    const place = environment[setting] ?? '';
    return place === '' ? [] : [{ name: setting, place }];
  });
  const own = join(dataDir, 'sealing.key');
  const isOwnUsed = !named.some(({ name }) => name === 'SEALING_KEY_FILE') && existsSync(own);
  return isOwnUsed ? [...named, { name: 'sealing.key', place: own }] : named;
}
