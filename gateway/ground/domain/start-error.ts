/** Why the service cannot start: one sentence for the operator, who can do something about it. */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}

/** What the system said, without its code and its stack: `no space left on device`. */
export function systemReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/^[A-Z0-9_]+: /, '').replace(/, [a-z]+( '.*'.*)?$/s, '');
}
