// npm run kill: ends the real gateway by SIGKILL at each named point and checks the money after it.
import type { Kill } from '../test/kills/campaign.js';
import { CRASH_POINTS } from '../test/kills/order.js';
import { runCommandAndExit, UsageError, wholeNumber } from './command.js';
import { isGood, line, summary } from './kill/report.js';

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

await runCommandAndExit({
  help: HELP,
  options: {
    times: { type: 'string', default: '20' },
    points: { type: 'string' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
  run: async ({ values }) => {
    const points = pointsOf(values.points);
    const times = wholeNumber('times', values.times, 1, 1_000_000);
    const seed = wholeNumber('seed', values.seed, 0, 2 ** 32);
    let count = 0;
    const onKill = (kill: Kill) => {
      count += 1;
      const total = points.length * times;
      console.log(values.json ? JSON.stringify(kill) : line(kill, count, total));
      for (const violation of kill.audit.violations) console.error(`  ${violation}`);
    };
    const { runKills } = await import('../test/kills/campaign.js');
    const kills = await runKills({ points, times, seed, onKill });
    if (!values.json) console.log(['', ...summary(kills)].join('\n'));
    return kills.every(isGood) ? 0 : 1;
  },
});

function pointsOf(text: string | undefined) {
  const named = text?.split(',') ?? CRASH_POINTS;
  const points = CRASH_POINTS.filter((point) => named.includes(point));
  if (points.length === named.length) return points;
  throw new UsageError(`--points: not all of these are known, each once: ${named.join(', ')}`);
}
