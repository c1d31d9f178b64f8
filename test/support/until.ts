import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves once the condition holds, asked every 20 ms; throws after `limitMs`. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  limitMs = 60_000,
): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error('the condition was not met in time');
    await sleep(20);
  }
}
