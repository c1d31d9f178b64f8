import { IncomingMessage, ServerResponse, Agent } from 'node:http';
import { Socket } from 'node:net';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { GENERATION_HEADER, type SearchRequest } from '../../../search-core/contract.js';
import type { Log } from '../../ground/domain/ports.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import {
  checkAnswer,
  type RunContext,
  type RunSearch,
  type SearchAnswer,
} from '../../search/answer.js';

export interface UpstreamOptions {
  /** `http://host:port`, or `unix:/path/to/socket`. */
  readonly url: string;
  /** Time for one whole exchange, in milliseconds. */
  readonly timeoutMs: number;
  /** Bytes of an answer at the most. */
  readonly bytesMax: number;
  /** Sockets to search-core at the most. */
  readonly socketsMax: number;
  readonly log: Log;
}

/**
 * Milliseconds after which an idle socket is closed from here: before the other side does it, which
 * Node's servers do after five to six seconds, perhaps while a search is on its way to them.
 */
const IDLE_SOCKET_MS = 4_000;

/** What one exchange with search-core came to. */
type Exchange =
  | { kind: 'response'; status: number; body: Buffer; generation: number | undefined }
  | { kind: 'fault'; code: string };

/**
 * The proxy to search-core. The request that the proxy forwards is ours, not the caller's: it
 * carries the validated search and a request id and nothing else, so that no credential of a caller
 * travels on, and a broken answer ends as a 502 and not as the caller's broken connection.
 */
export function createUpstream(options: UpstreamOptions): RunSearch & { close(): void } {
  const { socketsMax } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: socketsMax, timeout: IDLE_SOCKET_MS });
  const waiting = new WeakMap<IncomingMessage, (exchange: Exchange) => void>();
  const fail = (error: Error, request: IncomingMessage) => {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN';
    waiting.get(request)?.({ kind: 'fault', code });
  };
  const proxy = createProxyMiddleware({
    target: targetOf(options.url),
    agent,
    selfHandleResponse: true,
    on: {
      proxyRes: (response, request) => {
        collect(response, options.bytesMax, (exchange) => waiting.get(request)?.(exchange));
      },
      error: fail,
      econnreset: fail,
    },
  });

  const exchange = (body: Buffer, context: RunContext) =>
    new Promise<Exchange>((resolve) => {
      const request = standInRequest(body, context.requestId);
      const response = new ServerResponse(request);
      const settle = (result: Exchange) => {
        clearTimeout(timer);
        context.signal.removeEventListener('abort', abort);
        waiting.delete(request);
        resolve(result);
      };
      const end = (code: string) => {
        settle({ kind: 'fault', code });
        response.emit('close'); // the proxy drops its request when the response closes early
      };
      const abort = () => end('ABORTED');
      const timer = setTimeout(() => end('TIMEOUT'), options.timeoutMs);
      context.signal.addEventListener('abort', abort, { once: true });
      waiting.set(request, settle);
      void proxy(request, response, () => end('UNKNOWN'));
      if (context.signal.aborted) abort();
    });

  const run: RunSearch = async (request, context) => {
    const body = Buffer.from(JSON.stringify(request));
    const result = judge(await exchange(body, context), request, context);
    if (result.kind === 'answer') return result;
    const { requestId } = context;
    options.log.warn({ requestId, fault: result.fault }, 'search-core did not answer the search');
    return result.refusal;
  };
  return Object.assign(run, { close: () => agent.destroy() });
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

interface Failed {
  readonly kind: 'failed';
  readonly fault: string;
  readonly refusal: Refusal;
}

function failed(fault: string, refusal: Refusal): Failed {
  return { kind: 'failed', fault, refusal };
}

const ABSENT = new Set(['ECONNREFUSED', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH']);
const BROKEN = 'The search engine failed to answer. Nothing was charged; send the request again.';

function judge(
  exchange: Exchange,
  request: SearchRequest,
  context: RunContext,
): SearchAnswer | Failed {
  if (exchange.kind === 'fault') return judgeFault(exchange.code);
  if (exchange.status === 503) {
    return failed('503', refuse('service_unavailable', BUSY, { retryAfterSeconds: 1 }));
  }
  if (exchange.status !== 200) {
    return failed(`status ${exchange.status}`, refuse('upstream_error', BROKEN));
  }
  const checked = checkAnswer(parseJson(exchange.body), request, context.requestId);
  if ('fault' in checked) return failed(checked.fault, refuse('upstream_error', BROKEN));
  const { body, generation } = exchange;
  const { resultCount } = checked;
  return { kind: 'answer', body, resultCount, ...(generation !== undefined && { generation }) };
}

const BUSY = 'The search engine is busy. Nothing was charged; send the request again.';
const GONE = 'The search engine is still starting. Nothing was charged; try again shortly.';
const SLOW = 'The search took too long. Nothing was charged; send the request again.';

function judgeFault(code: string): Failed {
  if (code === 'TIMEOUT') return failed(code, refuse('upstream_timeout', SLOW));
  if (ABSENT.has(code)) {
    return failed(code, refuse('service_unavailable', GONE, { retryAfterSeconds: 2 }));
  }
  return failed(code, refuse('upstream_error', BROKEN));
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
