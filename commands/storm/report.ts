import type { StormReport } from '../../test/storm/campaign.js';

const DRAIN_SECONDS_MAX = 60;

/** Whether nothing was lost, doubled or stranded, and all was drained in time. */
export function isGood({ audit, drainSeconds }: StormReport): boolean {
  const isClean = audit.violations.length === 0 && audit.open === 0;
  return isClean && drainSeconds <= DRAIN_SECONDS_MAX;
}

/** The report for people. */
export function lines({ outcomes, audit, exchanges, ...report }: StormReport): string[] {
  const { seconds, drainSeconds, transactions } = report;
  return [
    ...Object.entries(outcomes)
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([outcome, count]) => `  ${String(count).padStart(6)}  ${outcome}`),
    `books: ${audit.settled} settled, ${audit.unpaid} unpaid, ${audit.open} open`,
    `chain: ${transactions} transactions of the relayer`,
    `JSON-RPC: ${exchanges.total} exchanges, ${exchanges.spoiled} of them went wrong`,
    `time: ${seconds.toFixed(1)} s, drained ${drainSeconds.toFixed(1)} s after the last payment`,
    `violations: ${audit.violations.length}`,
    ...audit.violations.map((violation) => `  ${violation}`),
  ];
}
