import type { Log } from '../../gateway/ground/domain/ports.js';

/** A log that keeps what it was told. */
export function memoryLog(): Log & { readonly messages: string[] } {
  const messages: string[] = [];
  const keep = (_: object, message: string) => void messages.push(message);
  return { messages, debug: keep, info: keep, warn: keep, error: keep };
}
