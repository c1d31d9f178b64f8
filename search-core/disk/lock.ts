import * as fs from 'node:fs';
import { hostname } from 'node:os';

/** Another running process holds the lock. */
export class LockedError extends Error {
  override readonly name = 'LockedError';
}

/** A lock file that this process holds. */
export interface Lock {
  /** @throws LockedError where another process has it now, because this one was silent for too long */
  assertHeld(): void;
  release(): void;
}

/** Who holds a lock, as the file says. Locks of older versions do not name their machine. */
interface Owner {
  readonly pid: number;
  /** When the process started, or '' where that cannot be known. */
  readonly start: string;
  readonly machine: string;
}

/** How often a holder shows that it lives, and after how long a silent one on another machine is dead. */
const SIGN_MS = 30_000;
const SILENT_MS = 600_000;

/**
 * Takes a lock file that names this process, when it started, and its machine. A lock does not count
 * whose process is gone, whose number went to another process, or, where it is another machine's
 * (or container's), whose file has not been touched for ten minutes by the file system's clock.
 * @param what what is locked, for the message: "the index data/index"
 * @throws LockedError if a running process holds it
 */
export function lock(path: string, what: string, machine = hostname()): Lock {
  const mine = `${path}.${machine}.${process.pid}`;
  const text = `${process.pid} ${startOf(process.pid)} ${machine}`;
  const file = fs.openSync(mine, 'w');
  try {
    fs.writeSync(file, text, 0);
    while (!link(mine, path)) removeStale(path, what, { machine, mine });
  } catch (error) {
    fs.closeSync(file);
    throw error;
  } finally {
    fs.rmSync(mine, { force: true });
  }
  return held(path, what, { file, text });
}

function held(
  path: string,
  what: string,
  { file, text }: { readonly file: number; readonly text: string },
): Lock {
  const { ino } = fs.fstatSync(file);
  const isHeld = (): boolean => fs.statSync(path, { throwIfNoEntry: false })?.ino === ino;
  // Written, and not only touched: so the file server's clock sets the time, not this machine's.
  const sign = setInterval(() => fs.writeSync(file, text, 0), SIGN_MS);
  sign.unref();
  return {
    assertHeld: () => {
      if (isHeld()) return;
      const owner = read(path);
      const who = owner === undefined ? 'nobody' : nameOf(parse(owner), '');
      throw new LockedError(`${what} was taken over: ${who} writes it now`);
    },
    release: () => {
      clearInterval(sign);
      if (isHeld()) fs.rmSync(path, { force: true });
      fs.closeSync(file);
    },
  };
}

/** Whether the lock is taken now. A link is made with its content, so nobody reads half a name. */
function link(mine: string, path: string): boolean {
  try {
    fs.linkSync(mine, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function removeStale(
  path: string,
  what: string,
  { machine, mine }: { readonly machine: string; readonly mine: string },
): void {
  const text = read(path);
  if (text === undefined) return;
  const owner = parse(text);
  const isForeign = owner.machine !== '' && owner.machine !== machine;
  if (isForeign ? silentMs(path, mine) < SILENT_MS : isAlive(owner)) {
    const hint = isForeign
      ? `; if that is gone, wait until the lock is ten minutes old, or remove ${path}`
      : '';
    throw new LockedError(`${what} is being written by ${nameOf(owner, machine)}${hint}`);
  }
  // Two processes may find the same stale lock. Whoever moves away a lock that is not that one any
  // more puts it back.
  const aside = `${mine}.stale`;
  try {
    fs.renameSync(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  if (read(aside) !== text) link(aside, path);
  fs.rmSync(aside, { force: true });
}

/** Milliseconds between the last sign of the holder and now, both by the file system's clock. */
function silentMs(path: string, mine: string): number {
  const last = fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return fs.statSync(mine).mtimeMs - last;
}

function read(path: string): string | undefined {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function parse(text: string): Owner {
  const [pid = '', start = '', machine = ''] = text.split(' ');
  return { pid: Number(pid), start, machine };
}

function nameOf({ pid, machine }: Owner, here: string): string {
  return machine === '' || machine === here ? `process ${pid}` : `process ${pid} on ${machine}`;
}

/** Whether the owner runs on this machine. */
function isAlive({ pid, start }: Owner): boolean {
  if (!(pid > 0) || !isRunning(pid)) return false;
  const startNow = startOf(pid);
  return start === '' || startNow === '' || start === startNow;
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
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
}
