import { ProtocolError } from '../errors.js';
import { causeOf } from '../transport.js';
import { mcpHeaders, type McpMessage } from './mcp-headers.js';

/** Where a bridge leads, and what it may do on the way. */
export interface BridgeParts {
  /** The service's `/mcp`. */
  readonly url: string;
  /** Sent with every request: who calls. */
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  /** Milliseconds for each answer; streams that a client listens to may stay open. */
  readonly timeoutMs: number;
  /** Takes one message for the host, without its line end. */
  readonly toHost: (line: string) => void;
  /** Tells a person what no message can tell. */
  readonly complain: (text: string) => void;
}

/** Carries messages between a host that speaks over standard input and output, and a service. */
export interface Bridge {
  /** Takes one line from the host; resolves when it has been answered. Never rejects. */
  take(line: string): Promise<void>;
  /** Ends the streams that the host listens to: it reads no more. */
  endStreams(): void;
}

/** JSON-RPC 2.0, 5.1; and the first of those that servers may choose. */
const PARSE_ERROR = -32_700;
const SERVER_ERROR = -32_000;
const TOO_LATE = 'no complete answer in time';
const LISTEN = 'subscriptions/listen';

export function createBridge(parts: BridgeParts): Bridge {
  const pending = new Map<unknown, { readonly stop: AbortController; readonly method: string }>();
  /** What `initialize` agreed on; later requests of those revisions do not name it themselves. */
  let agreedVersion: string | undefined;

  const toHost = (message: unknown) => parts.toHost(JSON.stringify(message));
  const fail = (id: unknown, code: number, message: string) =>
    toHost({ jsonrpc: '2.0', id, error: { code, message } });

  const ask = async (message: McpMessage, stop: AbortController) => {
    const { id, method } = message;
    let isAnswered = false;
    const response = await parts.fetch(parts.url, {
      method: 'POST',
      headers: { ...parts.headers, ...mcpHeaders(message, agreedVersion) },
      body: JSON.stringify(message),
      // Credentials never follow a redirect.
      redirect: 'manual',
      signal: stop.signal,
    });
    for await (const answer of messagesOf(response)) {
      const isOurs = answer.id === id || (answer.id === null && answer.error !== undefined);
      isAnswered ||= isOurs;
      if (method === 'initialize' && isOurs) agreedVersion = answer.result?.protocolVersion;
      if (id !== undefined) toHost(isOurs ? { ...answer, id } : answer);
      else if (answer.error) parts.complain(String(answer.error.message));
    }
    if (isAnswered) return;
    if (!response.ok) throw new ProtocolError(`${parts.url} answered ${response.status}`);
    if (id !== undefined) throw new ProtocolError(`${parts.url} ended before its answer`);
  };

  const carry = async (message: McpMessage) => {
    const { id, method } = message;
    const stop = new AbortController();
    const limitMs = method === LISTEN ? undefined : parts.timeoutMs;
    const timer =
      limitMs === undefined ? undefined : setTimeout(() => stop.abort(TOO_LATE), limitMs);
    if (id !== undefined) pending.set(id, { stop, method: method ?? '' });
    try {
      await ask(message, stop);
    } catch (error) {
      // Who gave a request up waits for no answer.
      const isLate = stop.signal.reason === TOO_LATE;
      if (stop.signal.aborted && !isLate) return;
      const why = isLate ? `no complete answer within ${parts.timeoutMs} ms` : causeOf(error);
      if (id === undefined) parts.complain(why);
      else fail(id, SERVER_ERROR, `search402: ${why}`);
    } finally {
      clearTimeout(timer);
      pending.delete(id);
    }
  };

  return {
    async take(line) {
      if (line.trim() === '') return;
      const message = parse(line);
      if (!message) fail(null, PARSE_ERROR, 'search402: this line is no message in JSON');
      else if (message.method === 'notifications/cancelled') {
        // Over HTTP, hanging up cancels.
        pending.get(message.params?.requestId)?.stop.abort();
      } else await carry(message);
    },
    endStreams() {
      for (const { stop, method } of pending.values()) if (method === LISTEN) stop.abort();
    },
  };
}

function parse(text: string): McpMessage | undefined {
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === 'object' && message !== null ? message : undefined;
  } catch {
    return undefined;
  }
}

/** The messages of a reply: of a stream one by one, otherwise the one there is. */
async function* messagesOf(response: Response): AsyncGenerator<McpMessage> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const texts = isStream ? eventData(response) : [await response.text()];
  for await (const text of texts) {
    const message = parse(text);
    if (message) yield message;
  }
}

/** More than the largest reply there is, in characters. */
const EVENT_LENGTH_MAX = 16 * 1024 * 1024;

/** The data of each event in a stream (WHATWG HTML, 9.2.6). */
async function* eventData({ body }: Response): AsyncGenerator<string> {
  if (body === null) return;
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  let data: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + decoder.decode(value, { stream: !done })).split('\n');
    rest = done ? '' : (lines.pop() ?? '');
    for (const line of done ? [...lines, ''] : lines) {
      const text = line.replace(/\r$/, '');
      if (text.startsWith('data:')) data.push(text.slice('data:'.length));
      if (text !== '' || data.length === 0) continue;
      yield data.join('\n');
      data = [];
    }
    if (done) return;
    if (rest.length > EVENT_LENGTH_MAX) throw new ProtocolError('the reply is too large');
  }
}
