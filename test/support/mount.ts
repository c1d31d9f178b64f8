/** File systems in memory, mounted for a test, for what only a disk of its own can be: full. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Mount {
  readonly path: string;
  unmount(): void;
}

/** Mounts one at `path`, with options such as `ro` or `size=64k`. */
export function mountTemporary(path: string, options: string): Mount {
  mkdirSync(path, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { stdio: 'ignore' });
  return { path, unmount: () => void execFileSync('umount', [path]) };
}

/** Whether this user may mount on this system. */
export function canMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), 'search402-mount-'));
  try {
    mountTemporary(path, 'size=64k').unmount();
    return true;
  } catch {
    return false;
  } finally {
    rmdirSync(path);
  }
}
