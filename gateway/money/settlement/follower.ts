import type { Clock, Log } from '../../ground/domain/ports.js';
import type { TransactionHash } from '../../ground/domain/units.js';
import type { Receipt, SettlementChain } from './chain.js';
import { BlockWatcher } from './block-watcher.js';
import { findCanonical } from './canonical.js';
import type { SettlementSettings } from './settings.js';

/** Something whose fate the next blocks decide: one relayer nonce and its transactions. */
export interface Watched {
  /** Every transaction that may have taken the nonce, the newest first. */
  hashes(): readonly TransactionHash[];
  /**
   * One of them is in a block that is still being made; called once for each number of such a block,
   * and only where preconfirmations are asked for.
   */
  preconfirmed(receipt: Receipt): Promise<void>;
  /** One of them is in a block; called once for each block that it turns up in. */
  included(receipt: Receipt): void;
  /** It has the configured confirmations. Called once; the watch is over. */
  confirmed(receipt: Receipt): Promise<void>;
  /** A poll found none of them in a block. */
  missed(): Promise<void>;
}

/** What is known of something that is watched. */
interface Sight {
  readonly sinceMs: number;
  /** Its newest receipt of a canonical block. */
  receipt: Receipt | undefined;
  /** The number of the block in the making that it was last seen in. */
  preconfirmedIn: bigint | undefined;
  /** When it was last looked for in vain in the canonical blocks. */
  missedAtMs: number | undefined;
}

/** What one look has found: all that is in canonical blocks, and what is in one in the making. */
interface Found {
  readonly canonical: ReadonlyMap<TransactionHash, Receipt>;
  readonly preconfirmed: ReadonlyMap<TransactionHash, Receipt>;
  /** The newest block's number; 0 when no receipt needed it. */
  readonly head: bigint;
}

/** Between two looks for a preconfirmation: Base makes a flashblock every 200 ms. */
const SEEK_MS = 200;
/** Block times for which a preconfirmation is sought; then the rhythm of the blocks is enough. */
const SEEK_BLOCKS = 2;

/**
 * Follows the chain block by block for every pending transaction of every relayer: one poll when
 * the next block is due or announced, and none when nothing is pending. A receipt counts when its
 * block is canonical; before that only where preconfirmations are asked for.
 */
export class BlockFollower {
  readonly #watched = new Map<Watched, Sight>();
  readonly #watcher: BlockWatcher;
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
      readonly settings: Pick<
        SettlementSettings,
        'blockTimeMs' | 'confirmations' | 'preconfirmations'
      >;
    },
  ) {
    this.#watcher = new BlockWatcher(parts.settings.blockTimeMs);
  }

  /** Learns when blocks are due from whoever has just seen the newest one. */
  saw(block: bigint): void {
    this.#watcher.timing.sawNewest(block, this.parts.clock.monotonicMs());
  }

  /** Somebody says that a block is there: a reason to look soon, and never more than that. */
  hint(): void {
    const isAwaited = this.#watched.size > 0;
    if (this.#watcher.hint(this.parts.clock.monotonicMs(), isAwaited)) this.#wake.abort();
  }

  watch(watched: Watched): void {
    const sinceMs = this.parts.clock.monotonicMs();
    const nothing = { receipt: undefined, preconfirmedIn: undefined, missedAtMs: undefined };
    this.#watched.set(watched, { sinceMs, ...nothing });
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
      this.#wake = new AbortController();
      const { signal } = this.#wake;
      await clock.sleep(this.#untilLook(clock.monotonicMs()), signal);
      if (signal.aborted) continue;
      this.#watcher.looking(clock.monotonicMs());
      try {
        this.#misses = (await this.#poll()) ? 0 : this.#misses + 1;
      } catch (error) {
        log.warn({ error: String(error) }, 'the chain did not answer; asking again');
        this.#misses += 1;
      }
    }
  }

  #untilLook(nowMs: number): number {
    const { blockTimeMs, preconfirmations } = this.parts.settings;
    const ms = this.#watcher.untilLook(nowMs, this.#misses);
    const isSeeking =
      preconfirmations &&
      [...this.#watched.values()].some(
        ({ sinceMs, receipt, preconfirmedIn }) =>
          !receipt && preconfirmedIn === undefined && nowMs - sinceMs < SEEK_BLOCKS * blockTimeMs,
      );
    return isSeeking ? Math.min(ms, SEEK_MS) : ms;
  }

  /** Asks for every pending transaction at once; true when one turned up in a block. */
  async #poll(): Promise<boolean> {
    const askedAtMs = this.parts.clock.monotonicMs();
    const rounds = [...this.#watched].map(([watched, sight]) => ({
      watched,
      sight,
      hashes: watched.hashes(),
    }));
    const found = await this.#look(rounds.flatMap(({ hashes }) => hashes));
    const hits = await Promise.all(
      rounds.map(({ watched, sight, hashes }) => {
        this.#learn(sight, firstOf(found.canonical, hashes), askedAtMs);
        return this.#tell(watched, hashes, found).catch((error: unknown) => {
          // Nothing is lost: it stays watched and is told again after the next poll.
          this.parts.log.warn({ error: String(error) }, 'could not act on a receipt yet');
          return false;
        });
      }),
    );
    return hits.includes(true);
  }

  async #look(hashes: readonly TransactionHash[]): Promise<Found> {
    const { chain, settings } = this.parts;
    const receipts = (await chain.receipts(hashes)).flatMap((receipt) => receipt ?? []);
    const known = [...this.#watched.values()].flatMap(({ receipt }) => receipt?.block.hash ?? []);
    const { canonical, head } = await findCanonical(chain, receipts, new Set(known));
    const preconfirmation = receipts.filter((receipt) => !canonical.includes(receipt));
    return {
      canonical: byHash(canonical),
      preconfirmed: byHash(settings.preconfirmations ? preconfirmation : []),
      head: head ?? 0n,
    };
  }

  /** Learns from what turned up, or did not: when blocks can be seen, and when not yet. */
  #learn(sight: Sight, receipt: Receipt | undefined, askedAtMs: number): void {
    const { timing } = this.#watcher;
    if (!receipt) sight.missedAtMs = askedAtMs;
    else if (!sight.receipt) {
      if (sight.missedAtMs !== undefined) timing.missed(receipt.block.number, sight.missedAtMs);
      timing.saw(receipt.block.number, this.parts.clock.monotonicMs());
    }
  }

  /** Passes on what a poll found; true when the transaction turned up in a new block. */
  async #tell(
    watched: Watched,
    hashes: readonly TransactionHash[],
    { canonical, preconfirmed, head }: Found,
  ): Promise<boolean> {
    const sight = this.#watched.get(watched);
    if (!sight) return false;
    const before = sight.receipt;
    const receipt = (sight.receipt = firstOf(canonical, hashes));
    if (receipt) {
      const isNew = before?.block.hash !== receipt.block.hash;
      if (isNew) watched.included(receipt);
      if (head - receipt.block.number + 1n >= BigInt(this.parts.settings.confirmations)) {
        await watched.confirmed(receipt);
        this.#watched.delete(watched);
      }
      return isNew;
    }
    const preconfirmation = firstOf(preconfirmed, hashes);
    if (!preconfirmation) await watched.missed();
    else if (sight.preconfirmedIn !== preconfirmation.block.number) {
      await watched.preconfirmed(preconfirmation);
      sight.preconfirmedIn = preconfirmation.block.number;
      return true;
    }
    return false;
  }
}

const byHash = (receipts: readonly Receipt[]): Map<TransactionHash, Receipt> =>
  new Map(receipts.map((receipt) => [receipt.hash, receipt]));

const firstOf = <Found>(
  found: ReadonlyMap<TransactionHash, Found>,
  hashes: readonly TransactionHash[],
): Found | undefined => hashes.map((hash) => found.get(hash)).find(Boolean);
