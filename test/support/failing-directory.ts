import type { Directory, InputFile, OutputFile } from '../../search-core/disk/directory.js';

/** What a machine that lost power does with every call after that. */
export class PowerLoss extends Error {}

interface Entry {
  /** What a reader sees now. */
  bytes: Buffer;
  /** What survives: the bytes at the last sync. */
  durable: Buffer;
}

/**
 * A directory in memory that loses power after a number of steps. Files that were not synced keep
 * any prefix of what was appended since; names that were not synced may or may not be there.
 */
export class FailingDirectory implements Directory {
  private names = new Map<string, Entry>();
  private durableNames = new Map<string, Entry>();
  private failing = false;

  /** @param steps writes, syncs, renames and removals that succeed before the power goes */
  constructor(private steps = Infinity) {}

  /** Steps that are left. */
  get left(): number {
    return this.steps;
  }

  /** What a restart finds; `random` decides what of the unsynced survived. */
  afterCrash(random: () => number, steps = Infinity): FailingDirectory {
    const next = new FailingDirectory(steps);
    const survivors = random() < 0.5 ? this.durableNames : this.names;
    for (const [name, { bytes, durable }] of survivors) {
      const kept = durable.length + Math.floor(random() * (bytes.length - durable.length + 1));
      const content = bytes.length >= durable.length ? bytes.subarray(0, kept) : durable;
      const entry = { bytes: Buffer.from(content), durable: Buffer.from(content) };
      next.names.set(name, entry);
      next.durableNames.set(name, entry);
    }
    return next;
  }

  create(name: string): OutputFile {
    this.step();
    const entry: Entry = { bytes: Buffer.alloc(0), durable: Buffer.alloc(0) };
    this.names.set(name, entry);
    return {
      append: (bytes) => {
        this.step();
        entry.bytes = Buffer.concat([entry.bytes, bytes]);
      },
      sync: () => {
        this.step();
        entry.durable = entry.bytes;
      },
      close: () => undefined,
    };
  }

  open(name: string): InputFile {
    const entry = this.names.get(name);
    if (!entry) throw new Error(`no file ${name}`);
    return {
      size: entry.bytes.length,
      read(target, position) {
        if (position + target.length > entry.bytes.length) throw new Error(`${name} ends early`);
        target.set(entry.bytes.subarray(position, position + target.length));
      },
      close: () => undefined,
    };
  }

  exists(name: string): boolean {
    return this.names.has(name);
  }

  list(): string[] {
    return [...this.names.keys()];
  }

  rename(from: string, to: string): void {
    this.step();
    const entry = this.names.get(from);
    if (!entry) throw new Error(`no file ${from}`);
    this.names.set(to, entry);
    this.names.delete(from);
  }

  remove(name: string): void {
    this.step();
    this.names.delete(name);
  }

  sync(): void {
    this.step();
    this.durableNames = new Map(this.names);
  }

  private step(): void {
    if (this.failing || this.steps-- <= 0) {
      this.failing = true;
      throw new PowerLoss('the power is gone');
    }
  }
}
