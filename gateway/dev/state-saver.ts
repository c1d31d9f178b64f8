import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../ground/domain/ports.js';
import { limitLog } from './anvil.js';
import type { AnvilClient } from './funding.js';
import { saveState } from './state.js';

/** Saves the chain while it runs. */
export interface StateSaver {
  /** Saves once more and ends. */
  saveAndStop(): Promise<void>;
  /** Ends without saving, for a chain that is gone. */
  stop(): Promise<void>;
}

const LOOK_EVERY_MS = 1000;

/**
 * Saves the state now, and from then on whenever blocks with transactions have come, looked for
 * once a second. A save that fails is said in the log and tried again.
 */
export async function startStateSaver(options: {
  readonly client: AnvilClient;
  readonly stateFile: string;
  readonly logFile: string;
  readonly log: Log;
}): Promise<StateSaver> {
  const { client, stateFile, log } = options;
  let seen = await client.getBlockNumber();
  await saveState(client, stateFile);

  const abort = new AbortController();
  const look = async () => {
    const head = await client.getBlockNumber();
    const numbers = Array.from({ length: Number(head - seen) }, (_, i) => seen + BigInt(i) + 1n);
    const counts = await Promise.all(
      numbers.map((blockNumber) => client.getBlockTransactionCount({ blockNumber })),
    );
    if (counts.some((count) => count > 0)) await saveState(client, stateFile);
    seen = head;
    limitLog(options.logFile);
  };
  const pause = () =>
    sleep(LOOK_EVERY_MS, undefined, { signal: abort.signal, ref: false }).catch(() => undefined);
  const run = async () => {
    for (;;) {
      await pause();
      if (abort.signal.aborted) return;
      await look().catch((error: unknown) => {
        log.warn({ error: String(error) }, 'the development chain could not be saved');
      });
    }
  };
  const running = run();
  const stop = async () => {
    abort.abort();
    await running;
  };
  return {
    stop,
    saveAndStop: async () => {
      await stop();
      await saveState(client, stateFile).catch((error: unknown) => {
        log.warn({ error: String(error) }, 'the development chain was not saved at its end');
      });
    },
  };
}
