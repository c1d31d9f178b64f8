import type { Kill } from '../../test/kills/campaign.js';
import { CRASH_POINTS } from '../../test/kills/order.js';

/** Whether nothing was lost, doubled or stranded. */
export const isGood = ({ audit }: Kill) => audit.violations.length === 0 && audit.open === 0;

/** One kill in one line. */
export function line(kill: Kill, count: number, total: number): string {
  const { order, againInRecovery, deliveredBefore, deliveredAfter, abandoned, recoveryMs } = kill;
  const twice = againInRecovery ? ', again in recovery' : '';
  return (
    `${count}/${total} ${order.point}, passing ${order.passing}${twice}: ` +
    `${deliveredBefore} delivered before, ${deliveredAfter} after, ${abandoned} not fetched, ` +
    `settled down in ${recoveryMs} ms${isGood(kill) ? '' : ' VIOLATION'}`
  );
}

/** The table of all points. */
export function summary(kills: readonly Kill[]): string[] {
  const rows = CRASH_POINTS.flatMap((point) => {
    const here = kills.filter(({ order }) => order.point === point);
    const times = here.map(({ recoveryMs }) => recoveryMs).sort((a, b) => a - b);
    const last = times.at(-1);
    if (last === undefined) return [];
    const again = here.filter(({ againInRecovery }) => againInRecovery).length;
    const sum = (of: (kill: Kill) => number) => here.reduce((total, kill) => total + of(kill), 0);
    const median = times[Math.floor(times.length / 2)] ?? last;
    return [
      `| ${point} | ${here.length} | ${again} | ${sum((kill) => kill.deliveredBefore)} | ` +
        `${sum((kill) => kill.deliveredAfter)} | ${sum((kill) => kill.abandoned)} | ` +
        `${median} / ${last} | ${here.filter((kill) => !isGood(kill)).length} |`,
    ];
  });
  return [
    '| Point | Kills | Again in recovery | Delivered before | Fetched after | Not fetched | ' +
      'Settled down, ms, p50 / max | Violations |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
  ];
}
