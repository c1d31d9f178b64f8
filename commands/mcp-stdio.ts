// npm run --silent mcp:stdio: the search tool for clients that only speak over stdio.
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createToolServer } from '../gateway/edge/mcp/server.js';
import { ownVersion } from '../gateway/ground/version.js';
import { runCommand } from './command.js';
import { callThrough } from './mcp/call.js';
import { clientFrom, SETTINGS } from './mcp/client.js';

const HELP = `Serves the search tool of a search402 service over standard input and output.

  npm run --silent mcp:stdio

Its settings are environment variables:
${SETTINGS}
`;

await runCommand({
  help: HELP,
  options: {},
  run: () => {
    const client = clientFrom(process.env);
    serveStdio(({ era }) =>
      createToolServer(
        { era, version: ownVersion(), takesPayments: false, isCall: false },
        (args, context) => callThrough(client, args, context.mcpReq.signal),
      ),
    );
    return 0;
  },
});
