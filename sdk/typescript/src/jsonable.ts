/** A value as JSON can hold it: atomic amounts become decimal strings, and headers are left out. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof Headers) return undefined;
  if (value instanceof Map) return plain(Object.fromEntries(value));
  if (Array.isArray(value)) return value.map(plain);
  if (hasJson(value)) return value.toJSON();
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]));
}

const hasJson = (value: object): value is { toJSON(): unknown } =>
  'toJSON' in value && typeof value.toJSON === 'function';

/**
 * Lets `JSON.stringify` take an object that holds bigints. The method cannot be seen: a copy, a
 * comparison and a log show the same members as before.
 */
export function jsonable<T extends object>(value: T): T {
  return Object.defineProperty(value, 'toJSON', { value: () => plain({ ...value }) });
}
