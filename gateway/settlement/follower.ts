import type { Clock, Log } from '../domain/ports.js';
import type { TransactionHash } from '../domain/units.js';
import type { Receipt, SettlementChain } from './chain.js';
import { Lookout } from './lookout.js';

/** Something whose fate the next blocks decide: one relayer nonce and its transactions. */
export interface Watched {
  /** Every transaction that may have taken the nonce, the newest first. */
  hashes(): readonly TransactionHash[];
  /** One of them is in a block; called once for each block that it turns up in. */
  included(receipt: Receipt): void;
  /** It has the configured confirmations. Called once; the watch is over. */
  confirmed(receipt: Receipt): Promise<void>;
  /** A poll found none of them in a block. */
  missed(): Promise<void>;
}

/**
 * Follows the chain block by block for every pending transaction of every relayer: one poll when
 * the next block is due or announced, and none when nothing is pending.
 */
export class BlockFollower {
  readonly #watched = new Map<Watched, Receipt | undefined>();
  /** When a transaction was last looked for in vain. */
  readonly #missedAtMs = new WeakMap<Watched, number>();
  readonly #lookout: Lookout;
  /** Looks in a row that have found nothing. */
  #misses = 0;
  #wake = new AbortController();
  #loop: Promise<void> | undefined;
  #isStopped = false;

  constructor(
    private readonly parts: {
      readonly chain: SettlementChain;
      readonly clock: Clock;
      readonly log: Log;
      readonly blockTimeMs: number;
      readonly confirmations: number;
    },
  ) {
    this.#lookout = new Lookout(parts.blockTimeMs);
  }

  /** Learns when blocks are due from whoever has just seen the newest one. */
  saw(block: bigint): void {
    this.#lookout.pace.sawNewest(block, this.parts.clock.monotonicMs());
  }

  /** Somebody says that a block is there: a reason to look soon, and never more than that. */
  hint(): void {
    const isAwaited = this.#watched.size > 0;
    if (this.#lookout.hint(this.parts.clock.monotonicMs(), isAwaited)) this.#wake.abort();
  }

  watch(watched: Watched): void {
    this.#watched.set(watched, undefined);
    // Its first block decides when to look.
    this.#misses = 0;
    this.#wake.abort();
    this.#loop ??= this.#follow().finally(() => (this.#loop = undefined));
  }

  /** Ends the watch without a result. */
  forget(watched: Watched): void {
    this.#watched.delete(watched);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#wake.abort();
    await this.#loop;
  }

  async #follow(): Promise<void> {
    const { clock, log } = this.parts;
    while (this.#watched.size > 0 && !this.#isStopped) {
      const wait = this.#lookout.untilLook(clock.monotonicMs(), this.#misses);
      this.#wake = new AbortController();
      const { signal } = this.#wake;
      await clock.sleep(wait, signal);
      if (signal.aborted) continue;
      this.#lookout.looking(clock.monotonicMs());
      try {
        this.#misses = (await this.#poll()) ? 0 : this.#misses + 1;
      } catch (error) {
        log.warn({ error: String(error) }, 'the chain did not answer; asking again');
        this.#misses += 1;
      }
    }
  }

  /** Asks for every pending transaction at once; true when one turned up in a block. */
  async #poll(): Promise<boolean> {
    const askedAtMs = this.parts.clock.monotonicMs();
    const rounds = [...this.#watched.keys()].map((watched) => ({
      watched,
      hashes: watched.hashes(),
    }));
    const receipts = await this.parts.chain.receipts(rounds.flatMap(({ hashes }) => hashes));
    const byHash = new Map(receipts.flatMap((found) => (found ? [[found.hash, found]] : [])));
    const head = await this.#headFor([...byHash.values()]);
    this.#learn(rounds, byHash, askedAtMs);
    const hits = await Promise.all(
      rounds.map(({ watched, hashes }) => {
        const receipt = hashes.map((hash) => byHash.get(hash)).find(Boolean);
        return this.#tell(watched, receipt, head).catch((error: unknown) => {
          // Nothing is lost: it stays watched and is told again after the next poll.
          this.parts.log.warn({ error: String(error) }, 'could not act on a receipt yet');
          return false;
        });
      }),
    );
    return hits.includes(true);
  }

  /** Learns from receipts that turned up: when their block can be seen, and when not yet. */
  #learn(
    rounds: readonly { readonly watched: Watched; readonly hashes: readonly TransactionHash[] }[],
    byHash: ReadonlyMap<TransactionHash, Receipt>,
    askedAtMs: number,
  ): void {
    const now = this.parts.clock.monotonicMs();
    for (const { watched, hashes } of rounds) {
      const missedAtMs = this.#missedAtMs.get(watched);
      const receipt = hashes.map((hash) => byHash.get(hash)).find(Boolean);
      if (!receipt) this.#missedAtMs.set(watched, askedAtMs);
      else if (!this.#watched.get(watched)) {
        if (missedAtMs !== undefined) this.#lookout.pace.missed(receipt.block.number, missedAtMs);
        this.#lookout.pace.saw(receipt.block.number, now);
      }
    }
  }

  /** Passes on what a poll found; true when the transaction turned up in a new block. */
  async #tell(watched: Watched, receipt: Receipt | undefined, head: bigint): Promise<boolean> {
    const before = this.#watched.get(watched);
    this.#watched.set(watched, receipt);
    if (!receipt) {
      await watched.missed();
      return false;
    }
    const isNew = before?.block.hash !== receipt.block.hash;
    if (isNew) watched.included(receipt);
    if (head - receipt.block.number + 1n >= BigInt(this.parts.confirmations)) {
      await watched.confirmed(receipt);
      this.#watched.delete(watched);
    }
    return isNew;
  }

  /** The newest block's number; with one confirmation the receipt itself is proof enough. */
  async #headFor(receipts: readonly Receipt[]): Promise<bigint> {
    const newest = receipts.reduce(
      (max, { block }) => (block.number > max ? block.number : max),
      0n,
    );
    if (receipts.length === 0 || this.parts.confirmations === 1) return newest;
    return (await this.parts.chain.block('latest')).number;
  }
}
