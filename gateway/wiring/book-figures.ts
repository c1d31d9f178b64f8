import type { Clock } from '../ground/domain/ports.js';
import { unixMillis } from '../ground/domain/units.js';
import type { Metrics } from '../ground/observe/metrics.js';
import type { Store } from '../ground/store/store.js';
import { type RecentPayments, recentPayments } from '../money/ledger/recent.js';

const HOUR_MS = 3_600_000;

/** What the operator watches of the books: read when the metrics are, once for all of them. */
export function measureBooks(
  metrics: Pick<Metrics, 'gauge' | 'gauges'>,
  { store, clock, ethUsd }: { store: Store; clock: Pick<Clock, 'now'>; ethUsd: number },
): void {
  let reading: Promise<RecentPayments> | undefined;
  const read = () =>
    (reading ??= recentPayments(store, unixMillis(clock.now() - HOUR_MS)).finally(() => {
      reading = undefined;
    }));
  const gauge = (name: string, help: string, of: (recent: RecentPayments) => number) =>
    metrics.gauge(`search402_${name}`, help, async () => of(await read()));
  gauge('payments_open', 'Payments that are not at an end', ({ open }) => open);
  gauge(
    'payments_oldest_open_seconds',
    'Seconds since the oldest of them was reserved; 0 without any',
    ({ oldestOpenAt = clock.now() }) => (clock.now() - oldestOpenAt) / 1000,
  );
  metrics.gauges(
    'search402_payments_last_hour',
    'Payments that were reserved in the last hour, by what became of them',
    'outcome',
    async () => Object.entries((await read()).outcomes),
  );
  gauge(
    'revenue_usd_last_hour',
    'What those of the last hour brought in, in USD',
    ({ revenueUnits }) => Number(revenueUnits) / 1e6,
  );
  gauge(
    'gas_usd_last_hour',
    'What their transactions cost at ETH_USD, in USD',
    ({ costWei }) => (Number(costWei) / 1e18) * ethUsd,
  );
}
