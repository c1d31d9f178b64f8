import type { Fetcher, FetchLimits } from '../crawl/fetch.js';
import { robotsOf } from '../crawl/robots-fetch.js';
import type { Robots } from '../crawl/robots.js';
import { PRODUCT_TOKEN } from '../crawl/state.js';

/** RFC 9309, section 2.4: no longer than a day. */
const KEEP_MS = 24 * 3_600_000;
/** Where the rules could not be had, they are asked for again soon. */
const KEEP_FAILED_MS = 10 * 60_000;
const ORIGINS_MAX = 20_000;

interface Kept {
  readonly robots: Promise<Robots>;
  untilMs: number;
}

/** The rules of each host, asked for once a day. */
export class RobotsCache {
  private readonly kept = new Map<string, Kept>();

  constructor(
    private readonly fetcher: Fetcher,
    private readonly limits: FetchLimits,
    private readonly nowMs: () => number,
  ) {}

  /** The rules of an origin, and whether they were asked for just now. */
  of(origin: string): { readonly robots: Promise<Robots>; readonly isFresh: boolean } {
    const nowMs = this.nowMs();
    const known = this.kept.get(origin);
    if (known && known.untilMs > nowMs) return { robots: known.robots, isFresh: false };
    this.kept.delete(origin);
    if (this.kept.size >= ORIGINS_MAX) {
      const [oldest] = this.kept.keys();
      if (oldest !== undefined) this.kept.delete(oldest);
    }
    const kept: Kept = {
      robots: robotsOf(origin, PRODUCT_TOKEN, this.fetcher, this.limits),
      untilMs: nowMs + KEEP_MS,
    };
    this.kept.set(origin, kept);
    void kept.robots.then((robots) => {
      const isKnown = robots.allows('/') || robots.reason === 'robots_disallowed';
      if (!isKnown) kept.untilMs = nowMs + KEEP_FAILED_MS;
    });
    return { robots: kept.robots, isFresh: true };
  }
}
