/** What the settlement looks like from outside: to metrics, to the operator, to readiness. */
import type { PartHealth } from '../ground/observe/health.js';
import type { Metrics } from '../ground/observe/metrics.js';
import type { SettlementHealth } from '../money/settlement/health.js';
import type { Mover } from './mover.js';

/** What the operator watches of the settlement. */
export function measureSettlement(
  settlement: Mover['settlement'],
  metrics: Pick<Metrics, 'gauge'>,
): void {
  const gauge = (name: string, help: string, read: (health: SettlementHealth) => number) =>
    metrics.gauge(`search402_settlement_${name}`, help, () => read(settlement.health()));
  const sum = (of: (lane: SettlementHealth['lanes'][number]) => number) => {
    return ({ lanes }: SettlementHealth) => lanes.reduce((total, lane) => total + of(lane), 0);
  };
  gauge('queued', 'Payments that wait for a transaction', ({ queued }) => queued);
  gauge(
    'in_flight',
    'Transactions that no block holds yet',
    sum(({ inFlight }) => inFlight),
  );
  gauge(
    'at_fee_cap',
    'Transactions that cannot offer more',
    sum(({ atFeeCap }) => atFeeCap),
  );
  gauge(
    'halted',
    'Relayers that take no new work',
    sum(({ halted }) => (halted ? 1 : 0)),
  );
  gauge(
    'runway_hours',
    'Hours until the gas money of all relayers runs short, at the rate of the last hour',
    ({ runwayHours }) => runwayHours,
  );
  gauge(
    'balance_eth',
    'Gas money of all relayers',
    sum((lane) => Number(lane.balanceWei) / 1e18),
  );
}

const ether = (wei: bigint): string => (Number(wei) / 1e18).toFixed(5);

/** A line for each relayer, or for the facilitator. */
export function settlementFigures({
  lanes,
  facilitator,
}: SettlementHealth): readonly { readonly name: string; readonly value: string }[] {
  if (facilitator) {
    const { name, answers } = facilitator;
    return [{ name: `Facilitator ${name}`, value: answers ? 'answers' : 'does not answer' }];
  }
  return lanes.map(({ relayer, balanceWei, inFlight, halted }) => ({
    name: `Relayer ${relayer.slice(0, 10)}…`,
    value: `${ether(balanceWei)} ETH, ${halted ?? `${inFlight} in flight`}`,
  }));
}

/** Whether payments can be settled, and on whose money. */
export function settlementReadiness(settlement: Mover['settlement']): PartHealth {
  const { ready, lanes, facilitator, ...gas } = settlement.health();
  if (facilitator) {
    return ready ? { ready } : { ready, detail: 'the facilitator does not answer' };
  }
  const relayers = lanes.map(
    ({ relayer, halted, balanceWei }) =>
      `${relayer}: ${halted ?? 'open'}, ${ether(balanceWei)} ETH`,
  );
  const { isShortOfGasMoney, runwayHours } = gas;
  const runway =
    runwayHours === Infinity ? [] : [`gas money lasts ${Number(runwayHours.toPrecision(2))} hours`];
  const shortage = isShortOfGasMoney ? ['out of gas money'] : [];
  return { ready, detail: [...shortage, ...relayers, ...runway].join('; ') };
}
