import { Search402Error } from '../errors.js';

/** What the program gets from, and does to, the outside. */
export interface Io {
  /** Writes a line to standard output. */
  out(line: string): void;
  /** Writes a line to standard error. */
  err(line: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The command line cannot be understood. */
export class UsageError extends Search402Error {
  override readonly name = 'UsageError';
}

/** JSON for machines: bigints as decimal strings, errors with their fields. */
export function toJson(value: unknown): string {
  const plain = (_name: string, item: unknown): unknown => {
    if (typeof item === 'bigint') return item.toString();
    if (item instanceof Headers) return undefined;
    if (item instanceof Map) return Object.fromEntries(item) as unknown;
    return item;
  };
  return JSON.stringify(value, plain, 2);
}

/** Text from pages may hold escape sequences; a terminal must not obey them. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
}
