/** Nesting that any real payment stays far below; the official payload is 5 levels deep. */
const DEPTH_MAX = 16;
const STRINGS = /"(?:[^"\\]|\\.)*"/g;

/**
 * Parses JSON whose meaning cannot depend on the parser: one object, no member named twice
 * (RFC 8259, section 4), at most `DEPTH_MAX` levels. Returns undefined for anything else.
 *
 * A `__proto__` member stays an ordinary own property, as `JSON.parse` makes it; the schemas read
 * named members only. Cost is linear in the text, which the caller has bounded.
 */
export function parseJsonObject(text: string): Record<string, unknown> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const members = countMembers(value, DEPTH_MAX);
  if (members === undefined) return undefined;
  // Outside strings each colon is one member as written; `JSON.parse` kept the last of each name.
  const written = text.replace(STRINGS, '').split(':').length - 1;
  return written === members ? (value as Record<string, unknown>) : undefined;
}

function countMembers(value: unknown, depthLeft: number): number | undefined {
  if (typeof value !== 'object' || value === null) return 0;
  if (depthLeft === 0) return undefined;
  const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
  let count = Array.isArray(value) ? 0 : children.length;
  for (const child of children) {
    const inner = countMembers(child, depthLeft - 1);
    if (inner === undefined) return undefined;
    count += inner;
  }
  return count;
}
