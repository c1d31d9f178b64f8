import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { StartError, systemReason } from '../domain/start-error.js';
import { takeLock } from './lock.js';

/** The folder with the gateway's own files, ready to be written to. */
export interface DataFolder {
  stop(): Promise<void>;
}

/** What a start writes at the least, in bytes. */
const PROBE_BYTES = 1024 * 1024;

/**
 * Makes the folder and writes to it, so that a full or read-only disk is known before anything runs
 * on it. With `isShared` false it is this process's alone until `stop`: whoever else opens it like
 * this is refused before it can touch a chain or a database there.
 * @throws StartError
 */
export function openDataFolder(folder: string, { isShared }: { isShared: boolean }): DataFolder {
  try {
    makeFolder(resolve(folder));
    probe(join(folder, `probe-${process.pid}`));
    const lock = isShared ? undefined : takeLock(join(folder, 'gateway.lock'));
    if (!isShared && !lock) throw new StartError(takenSentence(folder));
    return { stop: () => Promise.resolve(lock?.release()) };
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`The data folder ${folder} cannot be used: ${systemReason(error)}.`, {
      cause: error,
    });
  }
}

/**
 * Node's own `recursive` never ends where a file system refuses a folder as missing although its
 * parent is there (below /proc).
 */
function makeFolder(path: string): void {
  if (existsSync(path)) {
    if (!statSync(path).isDirectory()) throw new StartError(`${path} is a file, and no folder.`);
    return;
  }
  makeFolder(dirname(path));
  mkdirSync(path);
}

const takenSentence = (folder: string) =>
  `Another gateway runs in the data folder ${folder}: stop it first, or set DATA_DIR to another folder.`;

function probe(file: string): void {
  const descriptor = openSync(file, 'w');
  try {
    const written = writeSync(descriptor, new Uint8Array(PROBE_BYTES));
    if (written < PROBE_BYTES) throw new Error('no space left on device');
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
    rmSync(file, { force: true });
  }
}
