import { afterEach } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const directories: string[] = [];

/** Called once by a file whose tests use `temporary`: what they made goes when each of them ends. */
export function removeTemporaries(): void {
  afterEach(() => {
    for (const path of directories.splice(0)) rmSync(path, { recursive: true });
  });
}

/** An empty directory of its own. */
export function temporary(): string {
  const path = mkdtempSync(join(tmpdir(), 'search-core-'));
  directories.push(path);
  return path;
}
