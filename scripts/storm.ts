// npm run storm: many payments over JSON-RPC endpoints that fail, and what became of each of them.
import { parseArgs } from 'node:util';
import { runStorm, type StormReport } from '../test/storm/campaign.js';

const HELP = `npm run storm -- [options]

Pays the real gateway on a chain of its own whose two JSON-RPC endpoints fail, some payers being
cheats, until every payment is settled or unpaid; then compares payers, books and the chain's logs.

  --payments N    how many (default 5000)
  --faults F      part of the JSON-RPC exchanges that go wrong, 0 to 0.9 (default 0.2)
  --payers N      at once, each with one payment after the other (default 150)
  --block-time S  seconds between blocks (default 2)
  --seed N        (default 1)
  --json          for programs
  --help

Ends with 1 when anything was lost, doubled or stranded, or is not drained within a minute.
`;

const DRAIN_SECONDS_MAX = 60;

function options() {
  const { values } = parseArgs({
    options: {
      payments: { type: 'string', default: '5000' },
      faults: { type: 'string', default: '0.2' },
      payers: { type: 'string', default: '150' },
      'block-time': { type: 'string', default: '2' },
      seed: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const number = (name: 'payments' | 'faults' | 'payers' | 'block-time' | 'seed', max: number) => {
    const value = Number(values[name]);
    if (value >= 0 && value <= max) return value;
    throw new Error(`--${name}: ${values[name]} is not a number from 0 to ${max}`);
  };
  return {
    payments: number('payments', 1_000_000),
    faults: number('faults', 0.9),
    payers: number('payers', 1000),
    blockTimeSeconds: number('block-time', 60),
    seed: number('seed', 2 ** 32),
    isJson: values.json,
    isHelp: values.help,
  };
}

function lines({ outcomes, audit, exchanges, ...report }: StormReport): string[] {
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

try {
  const { isJson, isHelp, ...storm } = options();
  if (isHelp) process.stdout.write(HELP);
  else {
    let shown = 0;
    const onProgress = (done: number) => {
      if (done < shown + 250) return;
      shown = done;
      console.error(`${done} of ${storm.payments} payments have their outcome`);
    };
    const report = await runStorm({ ...storm, onProgress });
    console.log(isJson ? JSON.stringify(report) : lines(report).join('\n'));
    const { audit, drainSeconds } = report;
    const isGood = audit.violations.length === 0 && audit.open === 0;
    if (!isGood || drainSeconds > DRAIN_SECONDS_MAX) process.exitCode = 1;
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
// The report is out: nothing that a client or a database has left behind keeps the program.
process.exit();
