// npm run --silent mcp:stdio: the search tool for clients that only speak over stdio.
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createToolServer } from '../gateway/mcp/server.js';
import { ownVersion } from '../gateway/version.js';
import { callThrough } from './mcp/call.js';
import { clientFrom, SETTINGS } from './mcp/client.js';

const HELP = `Serves the search tool of a search402 service over standard input and output.

  npm run --silent mcp:stdio

Its settings are environment variables:
${SETTINGS}
`;

try {
  if (process.argv.includes('--help')) {
    process.stdout.write(HELP);
  } else {
    const client = clientFrom(process.env);
    serveStdio(({ era }) =>
      createToolServer(
        { era, version: ownVersion(), takesPayments: false, isCall: false },
        (args, context) => callThrough(client, args, context.mcpReq.signal),
      ),
    );
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
