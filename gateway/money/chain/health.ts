import type { Clock, Random } from '../../ground/domain/ports.js';

/**
 * The circuit breaker of one endpoint.
 *
 *   due ──probe passed──▶ ready ──FAILURES_MAX in a row, or one lie──▶ cooling ──time──▶ due
 *    └──────────────────────probe failed──────────────────────────────────▲
 *
 * An endpoint begins as `due`: it is not used before it has said which chain it serves.
 */
export type Standing = 'ready' | 'cooling' | 'due';

export interface Health {
  standing(): Standing;
  /** Exponentially weighted mean of the time that answers took, in milliseconds. */
  latencyMs(): number;
  /** Milliseconds until a cooling endpoint is due; 0 otherwise. */
  coolingMs(): number;
  /** A probe passed: it is used again. */
  proven(): void;
  /** An answer came after this time. */
  answered(elapsedMs: number): void;
  /** It was not waited for any longer than this: its latency is at least that. */
  abandoned(elapsedMs: number): void;
  /** No usable answer came. True when the endpoint is left because of it. */
  failed(): boolean;
  /** It said what cannot be, or is far behind: it is left at once. */
  lied(): void;
}

/** Failures in a row after which an endpoint is left. */
const FAILURES_MAX = 5;
/** Doubled with every time in a row that it is left, up to the maximum. */
const COOLING_MS = { first: 1_000, max: 30_000 };
const LIE_COOLING_MS = 30_000;
/** Weight of the newest measurement. */
const NEWEST = 0.2;

export function createHealth(clock: Clock, random: Random): Health {
  let isProven = false;
  let failures = 0;
  let timesLeft = 0;
  let coolUntilMs = 0;
  let latencyMs: number | undefined;

  const leave = (coolingMs: number) => {
    isProven = false;
    failures = 0;
    timesLeft += 1;
    // Up to a quarter more, so that many gateways do not come back at the same moment.
    const [byte = 0] = random.bytes(1);
    coolUntilMs = clock.monotonicMs() + coolingMs * (1 + byte / 1024);
  };
  const learn = (elapsedMs: number) => {
    latencyMs = latencyMs === undefined ? elapsedMs : latencyMs + NEWEST * (elapsedMs - latencyMs);
  };
  const coolingMs = () => Math.max(0, coolUntilMs - clock.monotonicMs());

  return {
    standing: () => (isProven ? 'ready' : coolingMs() > 0 ? 'cooling' : 'due'),
    latencyMs: () => latencyMs ?? 0,
    coolingMs,
    proven: () => {
      isProven = true;
      failures = 0;
    },
    answered: (elapsedMs) => {
      failures = 0;
      timesLeft = 0;
      learn(elapsedMs);
    },
    abandoned: (elapsedMs) => {
      if (elapsedMs > (latencyMs ?? 0)) learn(elapsedMs);
    },
    failed: () => {
      if (coolingMs() > 0) return false;
      failures += 1;
      if (isProven && failures < FAILURES_MAX) return false;
      leave(Math.min(COOLING_MS.first * 2 ** Math.min(timesLeft, 10), COOLING_MS.max));
      return true;
    },
    lied: () => leave(LIE_COOLING_MS),
  };
}
