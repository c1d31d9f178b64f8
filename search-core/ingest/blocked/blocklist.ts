/**
 * What must never be in the index: a text file beside it, one name a line (`pattern.ts`), `#` begins
 * a comment. Everything that fills the index reads it while it holds the index's lock, and searches
 * look at it too, so a name that is in the file counts at once and for good.
 */
import { closeSync, fsyncSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { type AddressPattern, matchesPattern, parsePattern } from './pattern.js';

export interface Blocklist {
  /** Names in the file. */
  readonly size: number;
  /** Lines that are no name. They block nothing, so somebody has to mend them. */
  readonly unread: readonly string[];
  blocks(url: string): boolean;
}

/** The blocklist of an index: it outlives the index itself. */
export const blocklistFile = (index: string): string => `${index}.blocklist`;

/** Reads the file; one that is not there blocks nothing. @throws where it cannot be read */
export function readBlocklist(file: string): Blocklist {
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (Reflect.get(Object(error), 'code') !== 'ENOENT') throw error;
  }
  return blocklistOf(text.split('\n'));
}

/** A blocklist of lines as they stand in the file. */
export function blocklistOf(lines: readonly string[]): Blocklist {
  const addresses = new Set<string>();
  const hosts = new Set<string>();
  const domains = new Set<string>();
  const globs: AddressPattern[] = [];
  const unread: string[] = [];
  for (const line of lines) {
    const name = line.replace(/(?:^|\s)#.*$/u, '').trim();
    if (name === '') continue;
    const pattern = parsePattern(name);
    if (pattern === undefined) unread.push(name);
    else if (pattern.kind === 'address') for (const url of pattern.urls) addresses.add(url);
    else if (pattern.kind === 'host') hosts.add(pattern.host);
    else if (pattern.kind === 'domain') domains.add(pattern.host);
    else globs.push(pattern);
  }
  const isBlockedHost = (host: string): boolean => {
    if (hosts.has(host)) return true;
    for (let at = 0; at >= 0; at = host.indexOf('.', at) + 1 || -1) {
      if (domains.has(host.slice(at))) return true;
    }
    return false;
  };
  return {
    size: addresses.size + hosts.size + domains.size + globs.length,
    unread,
    blocks: (url) =>
      addresses.has(url) ||
      (hosts.size + domains.size > 0 && isBlockedHost(new URL(url).hostname)) ||
      globs.some((glob) => matchesPattern(url, glob)),
  };
}

/** Adds names, durably: from here on no load puts what they name into the index. */
export function addToBlocklist(file: string, names: readonly string[], why: string): void {
  const lines = names.map((name) => `${name} # ${why.replace(/\s+/gu, ' ')}\n`).join('');
  const fd = openSync(file, 'a', 0o600);
  try {
    writeSync(fd, lines);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Reads the file again whenever it has changed. */
export class LiveBlocklist {
  private stamp = '';
  private read: Blocklist = blocklistOf([]);

  constructor(private readonly file: string) {}

  /** The blocklist as the file says now. */
  get now(): Blocklist {
    const stamp = stampOf(this.file);
    if (stamp !== this.stamp) {
      this.read = readBlocklist(this.file);
      this.stamp = stamp;
    }
    return this.read;
  }
}

function stampOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs}` : '';
}
