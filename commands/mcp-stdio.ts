// npm run --silent mcp:stdio: the search tool for clients that only speak over stdio.
import { ownVersion } from '../gateway/ground/version.js';
import { type ExitCode, runCommand } from './command.js';
import { clientFrom, SETTINGS } from './mcp/client.js';

const HELP = `Serves the search tool of a search402 service over standard input and output.

  npm run --silent mcp:stdio

Its settings are environment variables:
${SETTINGS}
`;

await runCommand({
  help: HELP,
  options: {},
  run: async (): Promise<ExitCode> => {
    const client = clientFrom(process.env);
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
    const { createToolServer } = await import('../gateway/edge/mcp/server.js');
    const { callThrough } = await import('./mcp/call.js');
    serveStdio(({ era }) =>
      createToolServer(
        { era, version: ownVersion(), takesPayments: false, isCall: false },
        (args, context) => callThrough(client, args, context.mcpReq.signal),
      ),
    );
    return 0;
  },
});
