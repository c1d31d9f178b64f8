// npm run sim: payments in simulated worlds full of faults, and what must hold in each of them.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { summary, type Campaign } from '../test/sim/campaign.js';
import { runThreads } from '../test/sim/threads.js';
import { runWorld } from '../test/sim/world.js';

const HELP = `Runs the payment path in simulated worlds, one for each seed, and checks what must always hold.

  npm run sim -- --seeds N         N worlds, seeds 1 to N (default 1000)
  npm run sim -- --seeds N --from S    seeds S to S + N - 1
  npm run sim -- --seed X          one world
  npm run sim -- --seed X --trace  the same, with every event on stdout
  npm run sim -- --threads T       on T threads (default: one for each core)
  npm run sim -- --json            the result as one JSON object on stdout
  npm run sim -- --help            this text

Progress goes to stderr. Exits with 1 when something did not hold, and says which seeds to replay.
docs/simulation.md tells what is simulated and what is checked.
`;

/** A stack for every aborted wait costs more than the wait. */
Error.stackTraceLimit = 0;

const count = (name: string, text: string): number => {
  if (!/^[0-9]{1,12}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
};

const THREADS_MAX = 64;

function threadsOf(text: string | undefined): number {
  const threads = text === undefined ? availableParallelism() : count('threads', text);
  if (threads < 1 || threads > THREADS_MAX)
    throw new Error(`--threads must be from 1 to ${THREADS_MAX}`);
  return threads;
}

async function replay(seed: number, isTraced: boolean, isJson: boolean): Promise<void> {
  const show = isTraced ? { show: (line: string) => console.log(line) } : {};
  const { violations, digest, seconds } = await runWorld({ seed, ...show });
  if (isJson) console.log(JSON.stringify({ seed, violations, digest, seconds }));
  else {
    console.log(`seed ${seed}: ${seconds.toFixed(0)} s of simulated time, trace ${digest}`);
    for (const violation of violations) console.log(`  ${violation}`);
  }
  if (violations.length > 0) process.exitCode = 1;
}

function report(campaign: Campaign, isJson: boolean): void {
  if (isJson) {
    const { counts, ...rest } = campaign;
    console.log(JSON.stringify({ ...rest, counts: Object.fromEntries(counts) }));
  } else console.log(summary(campaign));
  if (campaign.violated.length > 0) process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      threads: { type: 'string' },
      trace: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  if (values.seed !== undefined) {
    await replay(count('seed', values.seed), values.trace, values.json);
    return;
  }
  const campaign = await runThreads({
    from: count('from', values.from),
    seeds: count('seeds', values.seeds),
    threads: threadsOf(values.threads),
    progress: (line) => console.error(line),
  });
  report(campaign, values.json);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
});
