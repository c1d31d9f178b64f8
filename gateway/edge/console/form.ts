import type { Request } from 'express';

/**
 * A field of a form without control characters (PostgreSQL stores no NUL), trimmed and cut to
 * `lengthMax` characters; empty when it is not there.
 */
export function textOf(request: Request, name: string, lengthMax: number): string {
  const value = ((request.body ?? {}) as Record<string, unknown>)[name];
  if (typeof value !== 'string') return '';
  return value
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, lengthMax);
}

/** A whole number of a form; undefined when the field is empty, NaN when it is none in bounds. */
export function numberOf(
  request: Request,
  name: string,
  { min, max }: { min: number; max: number },
): number | undefined {
  const text = textOf(request, name, 20);
  if (text === '') return undefined;
  const value = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  return value >= min && value <= max ? value : NaN;
}

/** The `id` of a path; empty, and so not found, when it cannot be one. */
export function idOf(request: Request): string {
  const { id } = request.params;
  return typeof id === 'string' && /^[\w-]{1,100}$/.test(id) ? id : '';
}
