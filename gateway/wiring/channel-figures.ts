import { formatUsd } from '../ground/domain/units.js';
import type { Metrics } from '../ground/observe/metrics.js';
import type { ChannelTotals } from '../money/channel-books/chain-books.js';

/** Lines of the operator's page. */
export type Figures = readonly { readonly name: string; readonly value: string }[];

/** What the operator watches of channels. */
export function measureChannels(
  metrics: Pick<Metrics, 'gauge'>,
  totals: () => ChannelTotals,
): void {
  const gauge = (name: string, help: string, read: (now: ChannelTotals) => number) =>
    metrics.gauge(`search402_channels_${name}`, help, () => read(totals()));
  gauge('open', 'Channels with money in them', ({ open }) => open);
  gauge('escrow_usd', 'What payers have in channels, in USD', ({ escrow }) => Number(escrow) / 1e6);
  gauge(
    'unclaimed_usd',
    'Charged and not claimed, in USD: at risk until it is claimed',
    ({ unclaimed }) => Number(unclaimed) / 1e6,
  );
  gauge('withdrawing', 'Channels that payers withdraw from', ({ withdrawing }) => withdrawing);
  gauge(
    'next_withdrawal_timestamp_seconds',
    'When the first of these withdrawals can be finished; 0 without any',
    ({ nextWithdrawal }) => nextWithdrawal ?? 0,
  );
}

/** The same for the operator's page. */
export function channelFigures(totals: ChannelTotals): Figures {
  const { open, escrow, unclaimed, withdrawing, nextWithdrawal } = totals;
  const until =
    nextWithdrawal === undefined
      ? ''
      : `, the first until ${new Date(nextWithdrawal * 1000).toISOString()}`;
  return [
    { name: 'Channels', value: `${open} open, ${formatUsd(escrow)} USD in escrow` },
    { name: 'Channels: charged, not claimed', value: `${formatUsd(unclaimed)} USD` },
    { name: 'Channels: withdrawals', value: `${withdrawing}${until}` },
  ];
}
