import type { Clock, Log } from '../../ground/domain/ports.js';
import type { Sync } from '../channel-books/chain-books.js';
import type { Claimer } from './claimer.js';
import type { Refunds } from './refunds.js';
import { lookAtChannels, type WatcherParts } from './watcher.js';

export interface UpkeepParts extends WatcherParts {
  readonly claimer: Pick<Claimer, 'claimDue'>;
  readonly refunds: Pick<Refunds, 'thaw'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds from look to look. */
  readonly everyMs: number;
}

/**
 * Looks after channels for as long as the gateway runs: what the chain says of them, claims, and the
 * end of refunds. What one round cannot do, the next one does; a crash between any two steps loses
 * nothing, because all of them start from the books and the chain.
 */
export class ChannelUpkeep {
  readonly #stopping = new AbortController();
  #rounds: Promise<void> | undefined;
  #sync: Sync | undefined;

  constructor(private readonly parts: UpkeepParts) {}

  /** Looks once, so that vouchers can be taken, and again from time to time. */
  async start(): Promise<void> {
    await this.#round();
    this.#rounds = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#rounds;
  }

  /** How far the chain is known; undefined before the first look. */
  get sync(): Sync | undefined {
    return this.#sync;
  }

  async #run(): Promise<void> {
    const { clock, everyMs } = this.parts;
    const { signal } = this.#stopping;
    for (;;) {
      await clock.sleep(everyMs, signal);
      if (signal.aborted) return;
      await this.#round();
    }
  }

  async #round(): Promise<void> {
    const { claimer, refunds, books, log } = this.parts;
    try {
      const block = await lookAtChannels(this.parts);
      this.#sync = await books.lastSync();
      await claimer.claimDue(block);
      if (this.#sync) await refunds.thaw(this.#sync.safeBlock);
    } catch (error) {
      log.warn({ error: String(error) }, 'could not look after channels; tries again soon');
    }
  }
}
