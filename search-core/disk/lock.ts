import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';

/**
 * Takes a lock file that names this process; one whose process is gone does not count. Returns the
 * function that lets go of it.
 * @throws Error if a running process holds it
 */
export function lock(path: string, retried = false): () => void {
  try {
    const fd = openSync(path, 'wx');
    writeSync(fd, String(process.pid));
    closeSync(fd);
    return () => rmSync(path, { force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || retried) throw error;
    const owner = Number(readFileSync(path, 'utf8'));
    if (owner > 0 && isRunning(owner)) {
      throw new Error(`the index is being written by process ${owner}`, { cause: error });
    }
    rmSync(path, { force: true });
    return lock(path, true);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
