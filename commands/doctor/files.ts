import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { openToOthers, readSealingKeys } from '../../gateway/ground/private-files.js';
import type { Config } from '../../gateway/wiring/config.js';
import { bad, type Finding, good, reasonOf, warning } from './finding.js';

const MIB = 1024 * 1024;
/** Bits of a mode that let anybody but the owner in. */
const OTHERS = 0o077;
const FREE_BYTES = { warning: 2048 * MIB, bad: 256 * MIB };

/** The data folder: room on its disk, and who may read it. */
export async function lookAtFolder({ DATA_DIR }: Config): Promise<readonly Finding[]> {
  const found = await stat(DATA_DIR).catch(() => undefined);
  if (!found)
    return [good('folder', `The data folder ${DATA_DIR} will be made at the first start.`)];
  if (!found.isDirectory()) {
    return [bad('folder', `${DATA_DIR} is a file.`, 'Set DATA_DIR to a folder.')];
  }
  const { bavail, bsize } = await statfs(DATA_DIR);
  const free = bavail * bsize;
  const said = `The disk of the data folder has ${Math.floor(free / MIB)} MiB left.`;
  const cure = `Make room on the disk of ${DATA_DIR}: without any, nothing can be sold.`;
  const room =
    free < FREE_BYTES.bad
      ? bad('disk', said, cure)
      : free < FREE_BYTES.warning
        ? warning('disk', said, cure)
        : good('disk', said);
  const isOpen = process.platform !== 'win32' && (found.mode & OTHERS) !== 0;
  const mode = isOpen
    ? [
        warning(
          'permissions.folder',
          `Other users of this machine may read the data folder ${DATA_DIR}.`,
          `Close it: chmod -R go-rwx ${DATA_DIR}`,
        ),
      ]
    : [good('permissions.folder', 'The data folder is its user’s alone.')];
  return [room, ...mode];
}

/** What is in the data folder: books and keys, made for their user alone. */
export async function lookAtFiles({ DATA_DIR }: Config): Promise<readonly Finding[]> {
  if (process.platform === 'win32') return [];
  const names = await readdir(DATA_DIR).catch(() => []);
  const modes = await Promise.all(
    names.map(async (name) => {
      const found = await stat(join(DATA_DIR, name)).catch(() => undefined);
      return found?.isFile() === true && (found.mode & OTHERS) !== 0 ? [name] : [];
    }),
  );
  const open = modes.flat();
  if (open.length === 0) return [];
  return [
    warning(
      'permissions.files',
      `Modes in the data folder let other users in: ${open.slice(0, 5).join(', ')}.`,
      `Close them: chmod -R go-rwx ${DATA_DIR}`,
    ),
  ];
}

/** Files with secrets that others can read. */
export async function lookAtKeyFiles(config: Config): Promise<readonly Finding[]> {
  const { chain, SEALING_KEY_FILE } = config;
  const files: [string, string][] = [];
  if (chain.kind === 'mainnet' && 'file' in chain.mover) {
    const { file, passphraseFile } = chain.mover;
    files.push(['RELAYER_PRIVATE_KEY_FILE', file]);
    if (passphraseFile !== undefined) files.push(['RELAYER_PASSPHRASE_FILE', passphraseFile]);
  }
  if (SEALING_KEY_FILE !== undefined) files.push(['SEALING_KEY_FILE', SEALING_KEY_FILE]);
  const unreadable = await unreadableSealingKey(config);
  const open = await Promise.all(files.map(([setting, file]) => openToOthers(setting, file)));
  const findings = open
    .flat()
    .map((said) =>
      bad('permissions.keys', said, 'Close the file, and make new keys: see SECURITY.md.'),
    );
  if (unreadable.length > 0 || findings.length > 0 || files.length === 0) {
    return [...unreadable, ...findings];
  }
  return [good('permissions.keys', 'The files with keys are their user’s alone.')];
}

async function unreadableSealingKey(config: Config): Promise<readonly Finding[]> {
  const { DATA_DIR, SEALING_KEY_FILE } = config;
  // Without the setting, reading would make a key.
  if (SEALING_KEY_FILE === undefined) return [];
  try {
    await readSealingKeys(DATA_DIR, SEALING_KEY_FILE);
    return [];
  } catch (error) {
    return [bad('sealing.key', reasonOf(error), 'Put back the file that sealed this database.')];
  }
}
