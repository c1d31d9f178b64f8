// npm run mcp:check: connects to a running service by each way in and shows what happened.
import { runCommand } from './command.js';
import { checkOptions, OPTIONS } from './mcp/check-options.js';

const HELP = `Connects to the /mcp of a running service by each way in, and says what happened.

  npm run mcp:check

  --url URL            the gateway; default: the local one, from data/dev.json
  --api-url URL        the API, for keys and sign-in; default: the local one
  --key-env NAME       the environment variable that holds an API key; costs one credit
  --wallet-env NAME    the one that holds a wallet's private key; costs one search, at most a cent

On a development start the sample key and the worthless wallet are used.
`;

const MARKS = { works: '✓', broken: '✗', 'not tried': '-' } as const;

await runCommand({
  help: HELP,
  options: OPTIONS,
  run: async (given) => {
    const options = checkOptions(given);
    const { checkWaysIn } = await import('./mcp/check.js');
    const findings = await checkWaysIn(options);
    for (const { way, verdict, detail } of findings) {
      console.log(`${MARKS[verdict]} ${way}: ${verdict}. ${detail}`);
    }
    return findings.some(({ verdict }) => verdict === 'broken') ? 1 : 0;
  },
});
