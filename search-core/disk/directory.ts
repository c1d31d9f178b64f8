/**
 * The one door to the disk. Everything that the index writes goes through it, so that a test can
 * make any step fail or stop for good, and see what a restart finds.
 */
export interface Directory {
  /** Creates a file; one that is there already is replaced. */
  create(name: string): OutputFile;
  /** Opens a file for reading at any place. */
  open(name: string): InputFile;
  exists(name: string): boolean;
  list(): string[];
  /** Replaces `to` by `from` at once: after a crash it is the one or the other. */
  rename(from: string, to: string): void;
  /** Removes a file if it is there; readers that have it open keep it. */
  remove(name: string): void;
  /** Makes creations, renames and removals durable. */
  sync(): void;
}

export interface OutputFile {
  append(bytes: Uint8Array): void;
  /** Makes what was appended durable. */
  sync(): void;
  close(): void;
}

export interface InputFile {
  readonly size: number;
  /** Where the system opened it: other threads read by this, also after the file was removed. */
  readonly descriptor?: number;
  /** Reads bytes from `position` until `target` is full; throws where the file ends before that. */
  read(target: Uint8Array, position: number): void;
  close(): void;
}

/** Reads a whole file. */
export function readAll(directory: Directory, name: string): Uint8Array {
  const file = directory.open(name);
  try {
    const bytes = new Uint8Array(file.size);
    file.read(bytes, 0);
    return bytes;
  } finally {
    file.close();
  }
}
