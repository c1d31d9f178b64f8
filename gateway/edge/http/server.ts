import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Random } from '../../ground/domain/ports.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import { StartError } from '../../ground/domain/start-error.js';
import { limitConnections } from './connections.js';
import { errorResponse, sendRefusal } from './error-reply.js';

export interface ServerLimits {
  /** Bytes of all request headers together. */
  readonly headerBytesMax: number;
  /** Milliseconds until the headers must have come. */
  readonly headersTimeoutMs: number;
  /** Milliseconds until a whole request must have come. */
  readonly requestTimeoutMs: number;
  /** Milliseconds for which an idle connection is kept. */
  readonly keepAliveMs: number;
  /** Open connections at the most; further ones are dropped. */
  readonly connectionsMax: number;
  /** Proxies in front; without any, the connections of each address are limited, too. */
  readonly trustedProxies: number;
}

/** An HTTP server that is bounded in every direction and speaks ErrorResponse even for bad HTTP. */
export function createBoundedServer(
  listener: RequestListener,
  limits: ServerLimits,
  random: Random,
): Server {
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: 1_000,
      // `createDoor` asks for it, with an ErrorResponse.
      requireHostHeader: false,
    },
    listener,
  );
  followReplies(server);
  limitConnections(server, limits.connectionsMax, limits.trustedProxies);
  server.on('clientError', (error: BadHttp, socket) => {
    answerBadHttp(socket, refusalOf(error), random.uuid());
  });
  server.on('connect', (request: IncomingMessage, socket) => {
    answerBadHttp(socket, unknownMethod(request.url ?? ''), random.uuid());
  });
  // RFC 9110, 10.1.1: anything but 100-continue may be refused.
  server.on('checkExpectation', (_request, response) => {
    response.setHeader('Connection', 'close');
    sendRefusal(response, UNEXPECTED, random.uuid());
  });
  return server;
}

/** Why Node could not read a request, and what it had received of it. */
type BadHttp = NodeJS.ErrnoException & { readonly rawPacket?: Buffer };

const UNEXPECTED = refuse('malformed_request', 'Only Expect: 100-continue is supported.');

/** The first line of a request whose method Node does not know (RFC 9110, 9.1). */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64} (\S{1,2048}) HTTP\/1\.[01]\r?\n/;

/** A method that nobody knows is as little allowed as one that everybody knows. */
function unknownMethod(target: string): Refusal {
  return target.split('?', 1)[0] === '/search'
    ? refuse('method_not_allowed', 'Use POST for /search.')
    : refuse('not_found', 'Not found. To search, use POST /search.');
}

function refusalOf({ code, rawPacket }: BadHttp): Refusal {
  if (code === 'HPE_INVALID_METHOD') {
    const target = REQUEST_LINE.exec(rawPacket?.toString('latin1', 0, 2200) ?? '')?.[1];
    if (target !== undefined) return unknownMethod(target);
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return refuse('request_timeout', 'The request did not arrive in time.');
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return refuse('malformed_request', 'The request headers are too long.');
  }
  return refuse('malformed_request', 'The request isn’t valid HTTP/1.1.');
}

/** Milliseconds for a client to take in why its connection ends. */
const LAST_WORDS_MS = 1_000;

function answerBadHttp(socket: Duplex, refusal: Refusal, requestId: string): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(errorResponse(refusal, requestId));
  const { status } = refusal;
  // Whoever keeps its own end open does not keep ours.
  const end = setTimeout(() => socket.destroy(), LAST_WORDS_MS);
  socket.once('close', () => clearTimeout(end));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\n` +
      (status === 405 ? 'Allow: POST\r\n' : '') +
      `Cache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  );
}

/**
 * Connections that may wait to be accepted; systems cap it. Beyond Node's 511, a crowd's connections
 * are dropped, and whoever comes meanwhile tries again after seconds.
 */
const BACKLOG = 4096;

/** Starts listening; rejects when the address is taken. Resolves with the port in use. */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Says in one sentence why an address cannot be listened on; another error stays as it is. */
export function listenFault(
  error: unknown,
  { setting, port, host }: { setting: string; port: number; host: string },
): unknown {
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'EADDRINUSE':
      return new StartError(
        `Port ${port} on ${host} is already in use. Stop the other program, or set ${setting} to another port.`,
      );
    case 'EACCES':
      return new StartError(
        `This user isn’t allowed to listen on port ${port}. Set ${setting} above 1023.`,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new StartError(
        `${host} is not an address of this machine, so nothing can listen there.`,
      );
    default:
      return error;
  }
}

/**
 * From now on every reply says `Connection: close` (RFC 9112, 9.6), those to requests that run
 * already included: who kept a connection makes its next one elsewhere.
 */
export function closeAfterReplies(server: Server): void {
  draining.add(server);
  for (const response of replies.get(server) ?? []) response.shouldKeepAlive = false;
}

const draining = new WeakSet<Server>();
const replies = new WeakMap<Server, Set<ServerResponse>>();

/** Knows the replies that are not out yet. */
function followReplies(server: Server): void {
  const open = new Set<ServerResponse>();
  replies.set(server, open);
  server.prependListener('request', (_request, response: ServerResponse) => {
    if (draining.has(server)) response.shouldKeepAlive = false;
    open.add(response);
    response.once('close', () => open.delete(response));
  });
}

/** Stops taking connections and waits for running requests, at the most `deadlineMs`. */
export function drain(server: Server, deadlineMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), deadlineMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
