// npm run storm: many payments over JSON-RPC endpoints that fail, and what became of each of them.
import { decimalNumber, runCommandAndExit, wholeNumber } from './command.js';

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

await runCommandAndExit({
  help: HELP,
  options: {
    payments: { type: 'string', default: '5000' },
    faults: { type: 'string', default: '0.2' },
    payers: { type: 'string', default: '150' },
    'block-time': { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
  run: async ({ values }) => {
    const payments = wholeNumber('payments', values.payments, 1, 1_000_000);
    const wanted = {
      payments,
      faults: decimalNumber('faults', values.faults, 0, 0.9),
      payers: wholeNumber('payers', values.payers, 1, 1000),
      blockTimeSeconds: decimalNumber('block-time', values['block-time'], 0, 60),
      seed: wholeNumber('seed', values.seed, 0, 2 ** 32),
    };
    let shown = 0;
    const onProgress = (done: number) => {
      if (done < shown + 250) return;
      shown = done;
      console.error(`${done} of ${payments} payments have their outcome`);
    };
    const { runStorm } = await import('../test/storm/campaign.js');
    const { isGood, lines } = await import('./storm/report.js');
    const report = await runStorm({ ...wanted, onProgress });
    console.log(values.json ? JSON.stringify(report) : lines(report).join('\n'));
    return isGood(report) ? 0 : 1;
  },
});
