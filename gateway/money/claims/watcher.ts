import type { Clock, Log } from '../../ground/domain/ports.js';
import type { Bytes32 } from '../../ground/domain/units.js';
import type { ChannelChainBooks, ReadState } from '../channel-books/chain-books.js';
import type { Channel } from '../channels/channel.js';
import { changedChannels, readChannels, type ChannelChain } from './chain.js';

export interface WatcherParts {
  readonly chain: ChannelChain;
  readonly books: ChannelChainBooks;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds between looks. */
  readonly everyMs: number;
}

/** Channels that one look covers. */
const CHANNELS_MAX = 1000;

/**
 * Follows what the settlement contract says about our channels: deposits of anybody, claims, refunds
 * and withdrawals. Events only tell which channels to ask about; what the contract answers at one
 * block is the truth, so a lost or a repeated event does no harm. Until its block is safe a channel
 * is asked about at every look, because a reorganization leaves no event behind.
 */
export class ChannelWatcher {
  readonly #stopping = new AbortController();
  #rounds: Promise<void> | undefined;
  #look: Promise<void> | undefined;

  constructor(private readonly parts: WatcherParts) {}

  /** Looks once, and then again and again. A chain out of reach is asked again later. */
  async start(): Promise<void> {
    await this.#lookOrWarn();
    this.#rounds = this.#makeRounds();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#rounds;
  }

  /** Asks about these channels now. @throws when the chain does not answer. */
  async refresh(ids: readonly Bytes32[]): Promise<void> {
    const { chain, books } = this.parts;
    const head = await chain.block('latest');
    await books.recordStates(await readChannels(chain, ids, head));
  }

  /** Follows the events up to the newest block. Calls at the same time share one look. */
  look(): Promise<void> {
    this.#look ??= this.#lookNow().finally(() => (this.#look = undefined));
    return this.#look;
  }

  async #makeRounds(): Promise<void> {
    const { clock, everyMs } = this.parts;
    const { signal } = this.#stopping;
    for (;;) {
      await clock.sleep(everyMs, signal);
      if (signal.aborted) return;
      await this.#lookOrWarn();
    }
  }

  async #lookOrWarn(): Promise<void> {
    await this.look().catch((error: unknown) => {
      this.parts.log.warn({ error: String(error) }, 'could not follow the channels; trying again');
    });
  }

  async #lookNow(): Promise<void> {
    const { chain, books, clock } = this.parts;
    const startedAt = clock.now();
    const sync = await books.sync();
    const head = await chain.block('latest');
    const safe = await chain.block('safe');
    await books.completeDeposits();
    const unsettled = await books.unsettled(CHANNELS_MAX);
    const from = sync ? sync.safeBlock + 1n : head.number;
    const changed = await books.known(await changedChannels(chain, from, head.number));
    const asked = new Set([...changed, ...unsettled.map(({ id }) => id)]);
    const states = await readChannels(chain, [...asked], head);
    await books.recordStates(states);
    await this.#recordSafe(unsettled, states, safe.number);
    const safeBlock = safe.number < head.number ? safe.number : head.number;
    await books.recordSync({ syncedBlock: head.number, safeBlock }, startedAt);
  }

  /** What was read at a block that is safe now, and is the same since, is safe. */
  async #recordSafe(
    before: readonly Channel[],
    now: readonly ReadState[],
    safeBlock: bigint,
  ): Promise<void> {
    const { chain, books } = this.parts;
    const states = new Map(now.map((state) => [state.channelId, state]));
    const due = before.filter(({ id, onChain: { block, balance } }) => {
      return block && block.number <= safeBlock && states.get(id)?.balance === balance;
    });
    if (due.length === 0) return;
    const numbers = new Set(due.map(({ onChain }) => onChain.block?.number ?? 0n));
    const canonical = new Set<Bytes32>();
    for (const number of numbers) canonical.add((await chain.block(number)).hash);
    const isCanonical = ({ onChain }: Channel): boolean =>
      onChain.block !== undefined && canonical.has(onChain.block.hash);
    await books.recordSafe(due.filter(isCanonical));
    const moved = due.filter((channel) => !isCanonical(channel));
    if (moved.length > 0) await books.recordMoved(moved.flatMap(({ id }) => states.get(id) ?? []));
  }
}
