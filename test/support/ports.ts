import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock, Log, Random } from '../../gateway/ground/domain/ports.js';
import { unixMillis } from '../../gateway/ground/domain/units.js';

/** The machine's own clock behind the port. */
export const realClock: Clock = {
  now: () => unixMillis(Date.now()),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, signal && { signal }).catch(() => undefined),
  defer: (task) => void setImmediate(task),
};

/** The machine's clock as one process has it: when that is killed, its waits neither end nor last. */
export function mortalClock(): { readonly clock: Clock; kill(): void } {
  const death = new AbortController();
  const sleepAlive: Clock['sleep'] = async (ms, signal) => {
    const either = signal ? AbortSignal.any([signal, death.signal]) : death.signal;
    await realClock.sleep(ms, either);
    if (death.signal.aborted) await new Promise(() => undefined);
  };
  return { clock: { ...realClock, sleep: sleepAlive }, kill: () => death.abort() };
}

export const realRandom: Random = {
  bytes: (length) => randomBytes(length),
  uuid: () => randomUUID(),
};

export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** A port that nothing listens on now; for what has to know its address before it starts. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
