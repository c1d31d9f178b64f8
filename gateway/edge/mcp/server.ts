import {
  McpServer,
  type CallToolResult,
  type McpRequestContext,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { searchResponseSchema } from '../../search/answer.js';
import { PAYMENT_EXTENSION } from './result.js';
import {
  SEARCH_ANNOTATIONS,
  SEARCH_DESCRIPTION,
  SEARCH_INPUT,
  SEARCH_TITLE,
  SEARCH_TOOL,
} from './tool.js';

/** Runs one call of the tool; never rejects, because what went wrong is a result too. */
export type CallSearch = (args: unknown, context: ServerContext) => Promise<CallToolResult>;

/** How long a client may keep the list of tools, in milliseconds. It changes with a release. */
const LIST_TTL_MS = 3_600_000;

/** What is known about a request before its server is made. */
export interface ServerRequest {
  readonly era: McpRequestContext['era'];
  /** The service's own version, for clients to show. */
  readonly version: string;
  /** Whether calls are paid for one by one: announces the extension of x402. */
  readonly takesPayments: boolean;
  /** Whether this is a call, and so not a listing. */
  readonly isCall: boolean;
}

/**
 * A protocol server with the one tool. Earlier revisions are listed no output schema: clients of
 * the SDK's version 1 hold even error results against it, and a payment challenge is none of ours.
 * Calls are answered without it: the pipeline has checked results, and the SDK would hold the
 * result type `payment_required` against it.
 */
export function createToolServer(
  { era, version, takesPayments, isCall }: ServerRequest,
  callSearch: CallSearch,
): McpServer {
  const listing = { ttlMs: LIST_TTL_MS, cacheScope: 'public' } as const;
  const server = new McpServer(
    { name: 'search402', title: 'search402 web search', version },
    {
      capabilities: {
        tools: { listChanged: false },
        ...(takesPayments && era !== 'legacy' && { extensions: { [PAYMENT_EXTENSION]: {} } }),
      },
      cacheHints: { 'tools/list': listing, 'server/discover': listing },
    },
  );
  const config = {
    title: SEARCH_TITLE,
    description: SEARCH_DESCRIPTION,
    inputSchema: SEARCH_INPUT,
    annotations: SEARCH_ANNOTATIONS,
  };
  if (era === 'legacy' || isCall) server.registerTool(SEARCH_TOOL, config, callSearch);
  else {
    const withOutput = { ...config, outputSchema: searchResponseSchema };
    server.registerTool(SEARCH_TOOL, withOutput, callSearch);
  }
  return server;
}
