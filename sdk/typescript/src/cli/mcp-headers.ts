/** A message of the Model Context Protocol, as far as a bridge looks into it. */
export interface McpMessage {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: {
    readonly name?: unknown;
    readonly requestId?: unknown;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
  readonly result?: { readonly protocolVersion?: string };
  readonly error?: { readonly message?: unknown };
}

/** Where requests of the stateless revisions name their revision. */
const VERSION_META = 'io.modelcontextprotocol/protocolVersion';

/**
 * The headers of one message over Streamable HTTP. Since revision 2026-07-28 they repeat the
 * message’s revision, method and name; before, they name the revision that `initialize` agreed on.
 */
export function mcpHeaders(
  { id, method, params }: McpMessage,
  agreedVersion: string | undefined,
): Record<string, string> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const own = params?._meta?.[VERSION_META];
  if (typeof own !== 'string' || method === undefined || id === undefined) {
    const isKnown = agreedVersion !== undefined && method !== 'initialize';
    return isKnown ? { ...headers, 'mcp-protocol-version': agreedVersion } : headers;
  }
  const name = method === 'tools/call' ? params?.name : undefined;
  return {
    ...headers,
    'mcp-protocol-version': own,
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': headerText(name) }),
  };
}

/** A name as a header may carry it: as it is, or in base64 where it could be mistaken or changed. */
function headerText(name: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(name) && !name.startsWith('=?');
  return isPlain ? name : `=?base64?${Buffer.from(name, 'utf8').toString('base64')}?=`;
}
