/** What a run did, for a person and for a program. */
import { duration, whole } from './progress.js';
import type { Drop } from './tally.js';

export interface Report {
  readonly command: string;
  readonly index: string;
  readonly kept: number;
  readonly dropped: number;
  readonly drops: readonly Drop[];
  /** Pages in the whole index afterwards. */
  readonly indexPages: number;
  readonly seconds: number;
  /** Addresses that a crawl knows and did not ask for, because it reached its limit. */
  readonly waiting?: number;
}

export function reportJson(report: Report): string {
  return JSON.stringify({ ok: true, ...report, seconds: Number(report.seconds.toFixed(3)) });
}

export function reportText(report: Report): string {
  const { kept, dropped, seconds, index, indexPages, waiting } = report;
  return [
    `${whole(kept)} pages kept, ${whole(dropped)} dropped in ${duration(seconds)}`,
    ...dropLines(report.drops),
    `${index} now holds ${whole(indexPages)} pages`,
    ...(waiting === undefined
      ? []
      : [`${addresses(waiting)} left: run the same command again to go on`]),
  ].join('\n');
}

/** A line for each reason: its count and its first places. */
export function dropLines(drops: readonly Drop[]): string[] {
  const width = Math.max(0, ...drops.map((drop) => drop.reason.length));
  return drops.map(({ reason, count, first }) => {
    const places = `${first.length < count ? 'first: ' : ''}${first.join(', ')}`;
    return `  ${reason.padEnd(width)}  ${whole(count).padStart(7)}  (${places})`;
  });
}

const addresses = (count: number): string =>
  count === 1 ? '1 address is' : `${whole(count)} addresses are`;
