import * as fs from 'node:fs';
import { join } from 'node:path';
import type { Directory, InputFile, OutputFile } from './directory.js';

/** A directory of the file system, created when it is missing. */
export function openDirectory(path: string): Directory {
  fs.mkdirSync(path, { recursive: true });
  const at = (name: string): string => join(path, name);
  return {
    create: (name) => output(at(name)),
    open: (name) => input(at(name)),
    exists: (name) => fs.existsSync(at(name)),
    list: () => fs.readdirSync(path),
    rename: (from, to) => fs.renameSync(at(from), at(to)),
    remove: (name) => fs.rmSync(at(name), { force: true }),
    sync: () => syncDirectory(path),
  };
}

/** Directories cannot be synced on Windows, where renames are durable by themselves. */
function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  const fd = fs.openSync(path, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

function output(path: string): OutputFile {
  const fd = fs.openSync(path, 'w');
  return {
    append(bytes) {
      for (let at = 0; at < bytes.length;) at += fs.writeSync(fd, bytes, at);
    },
    sync: () => fs.fsyncSync(fd),
    close: () => fs.closeSync(fd),
  };
}

function input(path: string): InputFile {
  const descriptor = fs.openSync(path, 'r');
  const { size } = fs.fstatSync(descriptor);
  return { ...borrowed({ descriptor, size }, path), close: () => fs.closeSync(descriptor) };
}

/** A file that another thread of this process has open, and keeps open for as long as it is read. */
export interface OpenFile {
  readonly descriptor: number;
  readonly size: number;
}

/** Reads a file that another thread opened; to close it is left to that thread. */
export function borrowed({ descriptor, size }: OpenFile, name: string): InputFile {
  return {
    size,
    descriptor,
    read(target, position) {
      for (let at = 0; at < target.length;) {
        const count = fs.readSync(descriptor, target, at, target.length - at, position + at);
        if (count === 0) throw new Error(`${name} ends before byte ${position + target.length}`);
        at += count;
      }
    },
    close: () => undefined,
  };
}
