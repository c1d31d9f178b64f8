import { IncomingMessage, ServerResponse, Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { Socket } from 'node:net';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { GENERATION_HEADER } from '../../../search-core/contract.js';

/** Bounds of the exchanges with one search-core. */
export interface ExchangeLimits {
  /** Bytes of an answer at the most. */
  readonly bytesMax: number;
  /** Sockets to one search-core at the most. */
  readonly socketsMax: number;
}

/** One search on its way. */
export interface Ask {
  readonly body: Buffer;
  readonly requestId: string;
  readonly signal: AbortSignal;
  /** Time for the whole exchange, in milliseconds. */
  readonly timeoutMs: number;
}

/** What one exchange with search-core came to. */
export type Exchange =
  | { kind: 'response'; status: number; body: Buffer; generation: number | undefined }
  | { kind: 'fault'; code: string };

/** Sends searches to one search-core; never rejects. */
export interface NodeClient {
  exchange(ask: Ask): Promise<Exchange>;
  close(): void;
}

/**
 * Milliseconds after which an idle socket is closed from here: before the other side does it, which
 * Node's servers do after five to six seconds, perhaps while a search is on its way to them.
 */
const IDLE_SOCKET_MS = 4_000;

/**
 * The proxy to one search-core. The request that the proxy forwards is ours, not the caller's: it
 * carries the validated search and a request id and nothing else, so that no credential of a caller
 * travels on, and a broken answer ends as a 502 and not as the caller's broken connection.
 *
 * @param url `http(s)://host:port`, or `unix:/path/to/socket`.
 */
export function createNodeClient(url: string, limits: ExchangeLimits): NodeClient {
  const sockets = { keepAlive: true, maxSockets: limits.socketsMax, timeout: IDLE_SOCKET_MS };
  const agent = url.startsWith('https:') ? new TlsAgent(sockets) : new Agent(sockets);
  const waiting = new WeakMap<IncomingMessage, (exchange: Exchange) => void>();
  const fail = (error: Error, request: IncomingMessage) => {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN';
    waiting.get(request)?.({ kind: 'fault', code });
  };
  const proxy = createProxyMiddleware({
    target: targetOf(url),
    agent,
    selfHandleResponse: true,
    on: {
      proxyRes: (response, request) => {
        collect(response, limits.bytesMax, (exchange) => waiting.get(request)?.(exchange));
      },
      error: fail,
      econnreset: fail,
    },
  });

  const exchange = (ask: Ask) =>
    new Promise<Exchange>((resolve) => {
      const request = standInRequest(ask.body, ask.requestId);
      const response = new ServerResponse(request);
      const settle = (result: Exchange) => {
        clearTimeout(timer);
        ask.signal.removeEventListener('abort', abort);
        waiting.delete(request);
        resolve(result);
      };
      const end = (code: string) => {
        settle({ kind: 'fault', code });
        response.emit('close'); // the proxy drops its request when the response closes early
      };
      const abort = () => end('ABORTED');
      const timer = setTimeout(() => end('TIMEOUT'), ask.timeoutMs);
      ask.signal.addEventListener('abort', abort, { once: true });
      waiting.set(request, settle);
      void proxy(request, response, () => end('UNKNOWN'));
      if (ask.signal.aborted) abort();
    });
  return { exchange, close: () => agent.destroy() };
}

function targetOf(url: string) {
  if (!url.startsWith('unix:')) return url;
  return { host: 'search-core', protocol: 'http:', socketPath: url.slice('unix:'.length) };
}

function standInRequest(body: Buffer, requestId: string): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  request.method = 'POST';
  request.url = '/search';
  request.headers = {
    host: 'search-core',
    accept: 'application/json',
    'content-type': 'application/json',
    'content-length': String(body.length),
    'x-request-id': requestId,
  };
  request.push(body);
  request.push(null);
  return request;
}

function collect(response: IncomingMessage, bytesMax: number, done: (exchange: Exchange) => void) {
  const chunks: Buffer[] = [];
  let length = 0;
  response.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length <= bytesMax) chunks.push(chunk);
    else {
      done({ kind: 'fault', code: 'TOO_LARGE' });
      response.destroy();
    }
  });
  response.on('end', () => {
    const generation = generationOf(response);
    const body = Buffer.concat(chunks);
    done({ kind: 'response', status: response.statusCode ?? 0, body, generation });
  });
  response.on('close', () => done({ kind: 'fault', code: 'TRUNCATED' }));
  response.on('error', () => done({ kind: 'fault', code: 'TRUNCATED' }));
}

/** Undefined where search-core does not say: an index of another maker, or an older one. */
function generationOf({ headers }: IncomingMessage): number | undefined {
  const text = headers[GENERATION_HEADER];
  return typeof text === 'string' && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}
