// npm run doctor: looks at everything that the gateway stands on, and says what to do.
import { runCommandAndExit } from './command.js';
import type { Finding } from './doctor/finding.js';

const HELP = `npm run doctor: what is wrong with this installation, and what to do about it

  npm run doctor            looks at the RPC endpoints, relayers, price, contracts, clock, disk,
                            database, index, ports, permissions, mail and public address
  npm run doctor -- --json  the same as one JSON object: {"ok": …, "findings": [{"check", "state",
                            "said", "cure"}]}

It reads the same settings as the gateway, changes nothing, and may run beside it. It ends with 0 when
nothing is bad, and with 1 otherwise.
`;

const SIGNS = { good: 'ok     ', warning: 'warning', bad: 'BAD    ' } as const;

await runCommandAndExit({
  help: HELP,
  options: { json: { type: 'boolean' } },
  run: async ({ values }) => {
    const { examine } = await import('./doctor/examine.js');
    const findings = await examine(process.env);
    const isOk = findings.every(({ state }) => state !== 'bad');
    process.stdout.write(
      values.json === true ? `${JSON.stringify({ ok: isOk, findings })}\n` : written(findings),
    );
    return isOk ? 0 : 1;
  },
});

function written(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ state, said, cure }) => [
    `${SIGNS[state]}  ${said}`,
    ...(cure === undefined ? [] : [`         → ${cure}`]),
  ]);
  const count = (state: Finding['state']) => findings.filter((one) => one.state === state).length;
  const [worst, warnings] = [count('bad'), count('warning')];
  return `${lines.join('\n')}\n\n${worst} bad, ${warnings} to look at, ${count('good')} good.\n`;
}
