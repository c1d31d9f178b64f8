import type { Clock } from '../../ground/domain/ports.js';
import type { Block } from './judge.js';

/** The newest block that an endpoint has shown, and when. */
interface Head {
  readonly number: bigint;
  readonly timestamp: bigint;
  readonly seenMs: number;
}

/** What the endpoints of a pool say is the newest block, compared with each other. */
export interface Heads<Endpoint> {
  /** Returns what is wrong with this sight by itself; undefined when nothing is. */
  saw(endpoint: Endpoint, latest: Block): string | undefined;
  /** Milliseconds since this endpoint last showed its newest block; Infinity when never. */
  ageMs(endpoint: Endpoint): number;
  /** Why this endpoint contradicts the others, in a few words; undefined when it does not. */
  deviation(endpoint: Endpoint, others: readonly Endpoint[]): string | undefined;
}

/** Endpoints of one chain may be this far apart. */
const SECONDS_APART_MAX = 20;
/** No reorganisation is this deep. */
const BLOCKS_BACK_MAX = 64n;
/** Older sights are no base for a comparison. */
const SIGHT_MS_MAX = 60_000;

/**
 * Nobody can tell from one endpoint alone whether it lags, or whether our clock is wrong, or the
 * chain stands still. Two endpoints can be compared: of two that disagree, the one whose block time
 * is nearer to the wall clock is believed. That holds for one that lags as for one that claims
 * blocks of the future, and a wrong clock here moves both alike. Block numbers are not compared
 * between endpoints, since a made-up high number would speak against the honest ones.
 */
export function createHeads<Endpoint>(clock: Clock): Heads<Endpoint> {
  const heads = new Map<Endpoint, Head>();
  /**
   * Seconds from this machine's clock to the block's time when the block was seen, by the clock as
   * it is now: when it is set, all sights move alike.
   */
  const offSeconds = ({ timestamp, seenMs }: Head): number =>
    Number(timestamp) - (clock.now() - (clock.monotonicMs() - seenMs)) / 1000;
  return {
    saw: (endpoint, latest) => {
      const before = heads.get(endpoint);
      const number = BigInt(latest.number);
      const timestamp = BigInt(latest.timestamp);
      heads.set(endpoint, { number, timestamp, seenMs: clock.monotonicMs() });
      const wentBack =
        before && timestamp >= before.timestamp && number + BLOCKS_BACK_MAX < before.number;
      return wentBack ? `its block number went back by ${before.number - number}` : undefined;
    },
    ageMs: (endpoint) => {
      const head = heads.get(endpoint);
      return head ? clock.monotonicMs() - head.seenMs : Infinity;
    },
    deviation: (endpoint, others) => {
      const mine = heads.get(endpoint);
      if (!mine) return undefined;
      const distances = others.flatMap((other) => {
        const head = heads.get(other);
        const isRecent = head && clock.monotonicMs() - head.seenMs <= SIGHT_MS_MAX;
        return isRecent ? [Math.abs(offSeconds(head))] : [];
      });
      const mineSeconds = offSeconds(mine);
      const apart = Math.abs(mineSeconds) - Math.min(...distances);
      if (distances.length === 0 || apart <= SECONDS_APART_MAX) return undefined;
      const direction = mineSeconds < 0 ? 'behind' : 'ahead of';
      return `its newest block is ${Math.round(apart)} s ${direction} another endpoint's`;
    },
  };
}
