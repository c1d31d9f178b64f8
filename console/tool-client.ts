/** The smallest client of the tool protocol: revision 2026-07-28 over Streamable HTTP, one POST a call. */

const REVISION = '2026-07-28';

/** An answer of `/mcp`, whatever it was. */
export interface ToolReply {
  readonly status: number;
  /** WWW-Authenticate. */
  readonly challenge: string | null;
  readonly result?: ToolResult;
  /** What a JSON-RPC error says. */
  readonly problem?: string;
}

/** What `tools/list` or `tools/call` came to. */
export interface ToolResult {
  readonly tools?: readonly { readonly name: string }[];
  readonly isError?: boolean;
  readonly content?: readonly { readonly text?: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** The search that a check makes: one result of it is enough. */
const SEARCH = { name: 'search', arguments: { query: 'web search', maxResults: 1 } };

export const listTools = (url: string, authorization?: string): Promise<ToolReply> =>
  send(url, 'tools/list', {}, authorization);

export const callSearch = (
  url: string,
  authorization?: string,
  payment?: object,
): Promise<ToolReply> =>
  send(
    url,
    'tools/call',
    { ...SEARCH, ...(payment && { _meta: { 'x402/payment': payment } }) },
    authorization,
  );

async function send(
  url: string,
  method: string,
  params: { name?: string; _meta?: object },
  authorization?: string,
): Promise<ToolReply> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientInfo': { name: 'search402 console', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
    ...params._meta,
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': REVISION,
      'Mcp-Method': method,
      ...(params.name !== undefined && { 'Mcp-Name': params.name }),
      ...(authorization !== undefined && { Authorization: authorization }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  });
  const { result, error } = messageOf(await response.text());
  return {
    status: response.status,
    challenge: response.headers.get('WWW-Authenticate'),
    ...(result && { result }),
    ...(error && { problem: error.message }),
  };
}

interface Message {
  readonly result?: ToolResult;
  readonly error?: { readonly message: string };
}

/** The message of a reply, which comes as JSON or as the last event of a stream. */
function messageOf(text: string): Message {
  const events = text.split('\n').filter((line) => line.startsWith('data:'));
  const json = events.at(-1)?.slice('data:'.length) ?? text;
  try {
    return JSON.parse(json) as Message;
  } catch {
    return {};
  }
}
