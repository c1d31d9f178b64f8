/** One HTTP exchange of the crawler: bounded in time and size, and only with allowed addresses. */
import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import {
  checkedLookup,
  isRefusedLiteral,
  RefusedAddress,
  type AddressCheck,
} from '../../../network/checked-lookup.js';

export interface FetchLimits {
  /** Milliseconds from the request to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Bytes of the answer after decompression. */
  readonly bytesMax: number;
}

export interface FetchPorts extends AddressCheck {
  readonly userAgent: string;
}

type FetchFault =
  /** An address of the host is not on the public Internet. */
  | 'private_address'
  | 'timeout'
  | 'too_large'
  /** The content coding is unknown or broken. */
  | 'damaged_content'
  /** No connection, no answer, or not HTTP. */
  | 'unreachable';

export interface Fetched {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for redirects and 304. */
  readonly body: Buffer;
}

export interface Fetcher {
  /** Follows no redirect. Never rejects. */
  get(
    url: string,
    limits: FetchLimits,
    headers?: Record<string, string>,
  ): Promise<Fetched | FetchFault>;
  close(): void;
}

class TooLarge extends Error {}

export function createFetcher(ports: FetchPorts): Fetcher {
  const lookup = checkedLookup(ports);
  const options = { keepAlive: true, maxSockets: 2, timeout: 10_000 };
  const agents = { http: new HttpAgent(options), https: new HttpsAgent(options) };
  return {
    get: async (url, limits, headers = {}) => {
      const target = new URL(url);
      if (isRefusedLiteral(target, ports)) return 'private_address';
      const deadline = AbortSignal.timeout(limits.timeoutMs);
      const isTls = target.protocol === 'https:';
      try {
        const response = await new Promise<IncomingMessage>((resolve, reject) => {
          const start = isTls ? httpsRequest : httpRequest;
          start(target, {
            agent: isTls ? agents.https : agents.http,
            headers: { ...REQUEST_HEADERS, 'user-agent': ports.userAgent, ...headers },
            lookup,
            signal: deadline,
          })
            .on('response', resolve)
            .on('error', reject)
            .end();
        });
        return await read(response, limits, deadline);
      } catch (error) {
        return deadline.aborted ? 'timeout' : faultOf(error);
      }
    },
    close: () => {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

const REQUEST_HEADERS = {
  accept: 'text/html,application/xhtml+xml;q=0.9,text/plain;q=0.5,*/*;q=0.1',
  'accept-encoding': 'gzip, deflate, br',
  'accept-language': 'en',
} as const;

async function read(
  response: IncomingMessage,
  { bytesMax }: FetchLimits,
  deadline: AbortSignal,
): Promise<Fetched> {
  const status = response.statusCode ?? 0;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  const isEmpty = status < 200 || (status >= 300 && status < 400);
  if (isEmpty) {
    response.destroy();
    return { status, headers, body: Buffer.alloc(0) };
  }
  const parts: Buffer[] = [];
  let size = 0;
  const body = decoded(response, headers['content-encoding']);
  const stop = (): void => void body.destroy(new Error('deadline'));
  deadline.addEventListener('abort', stop);
  try {
    for await (const part of body) {
      size += (part as Buffer).length;
      if (size > bytesMax) throw new TooLarge();
      parts.push(part as Buffer);
    }
  } finally {
    deadline.removeEventListener('abort', stop);
    response.destroy();
  }
  return { status, headers, body: Buffer.concat(parts) };
}

function decoded(response: IncomingMessage, encoding = 'identity'): Readable {
  const decoder = decoderFor(encoding.trim().toLowerCase());
  if (!decoder) return response;
  response.on('error', (error) => decoder.destroy(error));
  return response.pipe(decoder);
}

function decoderFor(encoding: string) {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return undefined;
  }
}

function faultOf(error: unknown): FetchFault {
  if (error instanceof RefusedAddress) return 'private_address';
  if (error instanceof TooLarge) return 'too_large';
  const code: unknown = typeof error === 'object' && error !== null && Reflect.get(error, 'code');
  const isCoding = typeof code === 'string' && /^(?:Z_|ERR_BROTLI|ERR__ERROR_)/u.test(code);
  return isCoding ? 'damaged_content' : 'unreachable';
}
