import type { Clock } from '../../ground/domain/ports.js';
import { toSeconds, type UnixSeconds, unixSeconds } from '../../ground/domain/units.js';
import type { BlockFacts, SettlementChain } from './chain.js';

/** Older than this, a base fee is asked for again before something is signed. */
const STALE_MS = 60_000;

/** The newest block that anybody told of: chain time and base fee without a call of their own. */
export class ChainFacts {
  #newest: { readonly facts: BlockFacts; readonly atMs: number } | undefined;

  constructor(
    private readonly chain: Pick<SettlementChain, 'block'>,
    private readonly clock: Pick<Clock, 'now' | 'monotonicMs'>,
  ) {}

  observe(facts: BlockFacts): void {
    const newest = this.#newest?.facts.number ?? -1n;
    if (facts.number < newest) return;
    this.#newest = { facts, atMs: this.clock.monotonicMs() };
  }

  /** The chain's clock: the newest block's time plus what has passed since it was seen. */
  now(): UnixSeconds {
    if (!this.#newest) return toSeconds(this.clock.now());
    const elapsedMs = this.clock.monotonicMs() - this.#newest.atMs;
    return unixSeconds(this.#newest.facts.timestamp + Math.floor(elapsedMs / 1000));
  }

  /** Wei per gas, as of the newest block that was seen, however long ago; 0 before the first. */
  get lastBaseFee(): bigint {
    return this.#newest?.facts.baseFee ?? 0n;
  }

  /** Wei per gas, at most a minute old; costs a call only when nothing told of a newer block. */
  async baseFee(): Promise<bigint> {
    const known = this.#newest;
    if (known && this.clock.monotonicMs() - known.atMs < STALE_MS) return known.facts.baseFee;
    return (await this.refresh()).baseFee;
  }

  async refresh(): Promise<BlockFacts> {
    const facts = await this.chain.block('latest');
    this.observe(facts);
    return facts;
  }
}
