import { createServer, STATUS_CODES, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Random } from '../domain/ports.js';
import { refuse, type Refusal } from '../domain/refusal.js';
import { errorResponse } from './error-reply.js';

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
      requireHostHeader: true,
    },
    listener,
  );
  server.maxConnections = limits.connectionsMax;
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    answerBadHttp(socket, refusalOf(error.code), random.uuid());
  });
  return server;
}

function refusalOf(code: string | undefined): Refusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return refuse('request_timeout', 'The request did not arrive in time.');
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return refuse('malformed_request', 'The request headers are too long.');
  }
  return refuse('malformed_request', 'This is not a well-formed HTTP/1.1 request.');
}

function answerBadHttp(socket: Duplex, refusal: Refusal, requestId: string): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(errorResponse(refusal, requestId));
  const { status } = refusal;
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\n` +
      `Cache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** Starts listening; rejects when the address is taken. Resolves with the port in use. */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
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
