// npm run attack: attacks the real service as strangers would, and tells what got through.
import { ATTACKS } from '../test/attacks/attacks.js';
import { HEAD, line } from './attack/report.js';
import { type ExitCode, runCommandAndExit, UsageError } from './command.js';

const HELP = `npm run attack -- [options]

Attacks services of its own on this machine, each in the way that its row says, and prints a table:
what was tried, how often, how many tries did harm, and what that cost the attacker and us.

  --only A,B   only these: ${ATTACKS.map(({ name }) => name).join(', ')}
  --quick      only those that take seconds, as the tests run them
  --json       for programs: one object for each row
  --help

Ends with 1 when anything got through.
`;

await runCommandAndExit({
  help: HELP,
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
  run: async ({ values: { only, quick, json } }) => {
    const attacks = named(only).filter(({ isQuick }) => isQuick || !quick);
    let exitCode: ExitCode = 0;
    if (!json) console.log(HEAD.join('\n'));
    for (const attack of attacks) {
      console.error(`${attack.name} …`);
      for (const row of await attack.run()) {
        console.log(json ? JSON.stringify(row) : line(row));
        if (row.gotThrough > 0) exitCode = 1;
      }
    }
    return exitCode;
  },
});

function named(only: string | undefined) {
  const names = only?.split(',') ?? ATTACKS.map(({ name }) => name);
  const unknown = names.filter((name) => !ATTACKS.some((attack) => attack.name === name));
  if (unknown.length > 0) throw new UsageError(`--only: there is no attack ${unknown.join(', ')}`);
  return ATTACKS.filter(({ name }) => names.includes(name));
}
