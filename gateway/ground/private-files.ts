import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from './setting-kinds.js';
import { SEALING_KEY_BYTES } from './store/sealing.js';

/** Bits of a mode that let anybody but the owner in. */
const OTHERS = 0o077;
const STICKY = 0o1000;
const KEY_FILE = 'sealing.key';
/** A new key, and those before it that may still have sealed something. */
const KEYS_MAX = 4;

/** From now on, whatever this process and its children create is their user's alone. */
export function createPrivateFilesOnly(): void {
  process.umask(OTHERS);
}

/**
 * Makes the data folder, or closes the one there is to other users of this machine.
 *
 * @returns a sentence for each thing that others could read until now, or still can.
 */
export async function closedDataFolder(dataDir: string): Promise<readonly string[]> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  if (process.platform === 'win32') return [];
  // A closed folder closes what is in it: of the index, with its many files, the folder is enough.
  const children = (await readdir(dataDir)).map((name) => join(dataDir, name));
  const warnings = await Promise.all([dataDir, ...children].map(closed));
  return warnings.flat();
}

async function closed(path: string): Promise<readonly string[]> {
  const found = await stat(path).catch(() => undefined);
  if (!found || found.isSocket() || (found.mode & OTHERS) === 0) return [];
  const isOurs = found.uid === process.getuid?.() && (found.mode & STICKY) === 0;
  const isClosed = isOurs && (await closeToOthers(path, found.mode));
  const was = `${path} was open to other users of this machine (mode ${octal(found.mode)})`;
  const now = isClosed
    ? 'Access is now closed. If someone else uses this machine, they may have copied it.'
    : `Close it: chmod go-rwx ${path}`;
  return [`${was}. ${now}`];
}

function closeToOthers(path: string, mode: number): Promise<boolean> {
  return chmod(path, mode & 0o700).then(
    () => true,
    () => false,
  );
}

const octal = (mode: number) => (mode & 0o777).toString(8).padStart(4, '0');

/** The keys of the secrets in the database, and what is wrong with their file's mode. */
export interface SealingKeys {
  /** The first one seals, all of them open. */
  readonly keys: readonly [Uint8Array, ...Uint8Array[]];
  readonly warnings: readonly string[];
}

/**
 * Reads the sealing keys, one a line: from `file`, or else from the data folder, where it is made when there is
 * none. A key beside the database protects copies of the database alone, not of the folder.
 *
 * @throws ConfigError when the file cannot be read or holds no key.
 */
export async function readSealingKeys(
  dataDir: string,
  file: string | undefined,
): Promise<SealingKeys> {
  if (file === undefined) {
    const own = join(dataDir, KEY_FILE);
    await makeKey(own);
    return { keys: await readKeys('DATA_DIR', own), warnings: [] };
  }
  const keys = await readKeys('SEALING_KEY_FILE', file);
  return { keys, warnings: await openToOthers('SEALING_KEY_FILE', file) };
}

/** A sentence when others can read a file that the operator made: it is not ours to change. */
export async function openToOthers(setting: string, file: string): Promise<readonly string[]> {
  if (process.platform === 'win32') return [];
  const mode = (await stat(file).catch(() => undefined))?.mode ?? 0;
  if ((mode & OTHERS) === 0) return [];
  return [
    `${setting}: other users of this machine may read ${file} (mode ${octal(mode)}). ` +
      `Close it: chmod 600 ${file}`,
  ];
}

async function readKeys(setting: string, file: string): Promise<SealingKeys['keys']> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const code = codeOf(error) ?? 'unknown';
    throw new ConfigError([
      `${setting}: ${file} cannot be read (${code}). Make one: openssl rand -hex 32 > ${file}`,
    ]);
  });
  const lines = text.trim().split(/\s*\n\s*/);
  const isKey = (line: string) => /^[0-9a-fA-F]{64}$/.test(line);
  const [first, ...others] = lines.map((line) => Buffer.from(line, 'hex'));
  if (first && lines.length <= KEYS_MAX && lines.every(isKey)) return [first, ...others];
  throw new ConfigError([
    `${setting}: ${file} must hold 64 hex digits and nothing else, or one such line for each key.`,
  ]);
}

/** What the file system calls the error, such as `ENOENT`. */
function codeOf(error: unknown): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

/** Writes a new key unless there is one. Of two processes that start at once, both read the same. */
async function makeKey(file: string): Promise<void> {
  if (await stat(file).catch(() => undefined)) return;
  const temporary = `${file}.${randomBytes(8).toString('hex')}.tmp`;
  const handle = await open(temporary, 'wx', 0o600);
  try {
    await handle.writeFile(`${randomBytes(SEALING_KEY_BYTES).toString('hex')}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await link(temporary, file); // unlike a rename, this never replaces a key that is in use
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}
