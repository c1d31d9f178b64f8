import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** Another running process holds the lock. */
export class LockedError extends Error {
  override readonly name = 'LockedError';
}

/**
 * Takes a lock file that names this process and when it started; one whose process is gone does not
 * count, nor one whose number went to another process. Returns the function that lets go of it.
 * @param what what is locked, for the message: "the index data/index"
 * @throws LockedError if a running process holds it
 */
export function lock(path: string, what: string): () => void {
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, `${process.pid} ${startOf(process.pid)}`);
  try {
    while (!link(mine, path)) removeStale(path, what);
    return () => rmSync(path, { force: true });
  } finally {
    rmSync(mine, { force: true });
  }
}

/** Whether the lock is taken now. A link is made with its content, so nobody reads half a name. */
function link(mine: string, path: string): boolean {
  try {
    linkSync(mine, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function removeStale(path: string, what: string): void {
  const owner = read(path);
  if (owner === undefined) return;
  refuseRunning(owner, what);
  // Two processes may find the same stale lock. Whoever moves away a lock that is not that one any
  // more puts it back.
  const aside = `${path}.${process.pid}.stale`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  if (read(aside) !== owner) link(aside, path);
  rmSync(aside, { force: true });
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function refuseRunning(owner: string, what: string): void {
  const [pid = '', start = ''] = owner.split(' ');
  if (!(Number(pid) > 0) || !isRunning(Number(pid))) return;
  const startNow = startOf(Number(pid));
  if (start !== '' && startNow !== '' && start !== startNow) return;
  throw new LockedError(`${what} is being written by process ${pid}`);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/**
 * When a process started, in the system's ticks (proc(5), field 22 of `stat`); empty where that
 * cannot be known. In a container every start may get the same process number.
 */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
}
