// npm run kill: ends the real gateway by SIGKILL at each named point and checks the money after it.
import { parseArgs } from 'node:util';
import { CRASH_POINTS, type Kill, runKills } from '../test/kills/campaign.js';

const HELP = `npm run kill -- [options]

Starts the gateway on a development chain of its own, kills it by SIGKILL at each named point while
three payers pay, starts it again, and compares payers, books and the chain's logs.

  --times N      kills at each point (default 20)
  --points A,B   only these: ${CRASH_POINTS.slice(0, 4).join(', ')},
                 ${CRASH_POINTS.slice(4).join(', ')}
  --seed N       which passing of the point, and which recoveries die too (default 1)
  --json         for programs: one object for each kill
  --help

Ends with 1 when anything was lost, doubled, stranded or could not be explained.
`;

function options() {
  const { values } = parseArgs({
    options: {
      times: { type: 'string', default: '20' },
      points: { type: 'string' },
      seed: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const named = values.points?.split(',') ?? CRASH_POINTS;
  const points = CRASH_POINTS.filter((point) => named.includes(point));
  if (points.length !== named.length) throw new Error(`--points: ${named.join(',')}; see --help`);
  const [times, seed] = [Number(values.times), Number(values.seed)];
  if (!Number.isInteger(times) || times < 1) throw new Error('--times must be 1 or more');
  if (!Number.isInteger(seed)) throw new Error('--seed must be a whole number');
  return { points, times, seed, isJson: values.json, isHelp: values.help };
}

const isGood = ({ audit }: Kill) => audit.violations.length === 0 && audit.open === 0;

function line(kill: Kill, count: number, total: number): string {
  const { order, againInRecovery, deliveredBefore, deliveredAfter, abandoned, recoveryMs } = kill;
  const twice = againInRecovery ? ', again in recovery' : '';
  return (
    `${count}/${total} ${order.point}, passing ${order.passing}${twice}: ` +
    `${deliveredBefore} delivered before, ${deliveredAfter} after, ${abandoned} not fetched, ` +
    `settled down in ${recoveryMs} ms${isGood(kill) ? '' : ' VIOLATION'}`
  );
}

function summary(kills: readonly Kill[]): string[] {
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

try {
  const { isJson, isHelp, ...campaign } = options();
  if (isHelp) process.stdout.write(HELP);
  else {
    const total = campaign.points.length * campaign.times;
    let count = 0;
    const kills = await runKills({
      ...campaign,
      onKill: (kill) => {
        count += 1;
        console.log(isJson ? JSON.stringify(kill) : line(kill, count, total));
        for (const violation of kill.audit.violations) console.error(`  ${violation}`);
      },
    });
    if (!isJson) console.log(['', ...summary(kills)].join('\n'));
    if (!kills.every(isGood)) process.exitCode = 1;
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
// The report is out: nothing that a client or a database has left behind keeps the program.
process.exit();
