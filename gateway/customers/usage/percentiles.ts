/** Upper bounds, in milliseconds, below which a half, 95 and 99 of 100 searches were answered. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Percentiles of latencies that were counted in classes, in order of their bounds; of none, nothing. */
export function percentilesOf(
  classes: readonly { readonly boundMs: number; readonly searches: number }[],
): Percentiles | undefined {
  const all = classes.reduce((sum, { searches }) => sum + searches, 0);
  if (all === 0) return undefined;
  const boundOf = (share: number) => {
    let seen = 0;
    for (const { boundMs, searches } of classes) {
      seen += searches;
      if (seen >= all * share) return boundMs;
    }
    return classes.at(-1)?.boundMs ?? 0;
  };
  return { p50: boundOf(0.5), p95: boundOf(0.95), p99: boundOf(0.99) };
}
