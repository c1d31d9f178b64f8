// npm run sim: payments in simulated worlds full of faults, and what must hold in each of them.
import { availableParallelism } from 'node:os';
import { runCommandAndExit, wholeNumber } from './command.js';

const HELP = `Runs the payment path in simulated worlds, one for each seed, and checks what must always hold.

  npm run sim -- --seeds N         N worlds, seeds 1 to N (default 1000)
  npm run sim -- --seeds N --from S    seeds S to S + N - 1
  npm run sim -- --seed X          one world
  npm run sim -- --seed X --trace  the same, with every event on stdout
  npm run sim -- --channels        worlds in which payers have channels, too: ten times as long
  npm run sim -- --threads T       on T threads (default: one for each core)
  npm run sim -- --json            the result as one JSON object on stdout
  npm run sim -- --help            this text

Progress goes to stderr. Exits with 1 when something did not hold, and says which seeds to replay.
docs/simulation.md tells what is simulated and what is checked.
`;

const THREADS_MAX = 64;
const SEED_MAX = 999_999_999_999;

await runCommandAndExit({
  help: HELP,
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    threads: { type: 'string', default: String(Math.min(availableParallelism(), THREADS_MAX)) },
    channels: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
  run: async ({ values }) => {
    if (values.seed !== undefined) {
      const seed = wholeNumber('seed', values.seed, 0, SEED_MAX);
      const { replay } = await import('./sim/report.js');
      const { trace: isTraced, json: isJson, channels } = values;
      return replay(seed, { isTraced, isJson, hasChannels: channels });
    }
    const wanted = {
      from: wholeNumber('from', values.from, 0, SEED_MAX),
      seeds: wholeNumber('seeds', values.seeds, 0, SEED_MAX),
      threads: wholeNumber('threads', values.threads, 1, THREADS_MAX),
      hasChannels: values.channels,
    };
    const { report } = await import('./sim/report.js');
    const { runThreads } = await import('../test/sim/threads.js');
    const progress = (line: string) => console.error(line);
    const campaign = await runThreads({ ...wanted, progress });
    return report(campaign, values.json);
  },
});
