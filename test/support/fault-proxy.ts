import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What happens to one request on its way. */
export type Fault =
  | { readonly kind: 'pass' }
  /** The connection is reset before the server has seen anything. */
  | { readonly kind: 'drop-before' }
  /** The server answers in full, and the connection is reset before the client has seen anything. */
  | { readonly kind: 'drop-after' }
  /** Status, headers and half of the body arrive; then the connection is reset. */
  | { readonly kind: 'cut-body' }
  /** Status and headers arrive at once, the body after `ms`. */
  | { readonly kind: 'slow-body'; readonly ms: number }
  /** Something in between answers, and the server sees nothing. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly retryAfter?: string;
      readonly retryAfterMs?: string;
    }
  /** The server answers in full, but something in between answers with this status. */
  | { readonly kind: 'status-after'; readonly status: number; readonly retryAfter?: string };

/** One request as the client sent it. */
interface Seen {
  readonly payment: string | undefined;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
  readonly fault: Fault['kind'];
}

export interface FaultProxy {
  readonly url: string;
  /** Faults for the next requests, in order; when they are used up, requests pass. */
  readonly faults: Fault[];
  readonly seen: Seen[];
  close(): Promise<void>;
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

function forward(target: string, incoming: IncomingMessage, body: Buffer): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const onward = httpRequest(
      target + (incoming.url ?? '/'),
      { method: incoming.method, headers: { ...incoming.headers, connection: 'close' } },
      (answer) => {
        readAll(answer).then(
          (bytes) =>
            resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: bytes }),
          reject,
        );
      },
    );
    onward.on('error', reject);
    onward.end(body);
  });
}

function write(response: ServerResponse, reply: Reply, bytes: Buffer): void {
  const headers = { ...reply.headers, 'content-length': reply.body.length };
  delete headers['transfer-encoding'];
  delete headers.connection;
  response.writeHead(reply.status, headers);
  if (bytes.length > 0) response.write(bytes);
  else response.flushHeaders();
}

/** Stands between a client and the server at `target`, and spoils what it is told to spoil. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const faults: Fault[] = [];
  const seen: Seen[] = [];
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const fault = faults.shift() ?? { kind: 'pass' };
    const body = await readAll(incoming);
    const payment = incoming.headers['payment-signature'];
    const { headers } = incoming;
    seen.push({ payment: payment?.toString(), body: body.toString(), headers, fault: fault.kind });
    const answerFor = (status: number, seconds: string | undefined, ms?: string) => {
      if (seconds !== undefined) response.setHeader('retry-after', seconds);
      if (ms !== undefined) response.setHeader('retry-after-ms', ms);
      response.writeHead(status);
      response.end('from something in between');
    };
    if (fault.kind === 'drop-before') {
      incoming.socket.resetAndDestroy();
      return;
    }
    if (fault.kind === 'status') {
      answerFor(fault.status, fault.retryAfter, fault.retryAfterMs);
      return;
    }
    const reply = await forward(target, incoming, body);
    switch (fault.kind) {
      case 'drop-after':
        incoming.socket.resetAndDestroy();
        return;
      case 'status-after':
        answerFor(fault.status, fault.retryAfter);
        return;
      case 'cut-body':
        write(response, reply, reply.body.subarray(0, Math.floor(reply.body.length / 2)));
        setTimeout(() => incoming.socket.resetAndDestroy(), 50).unref();
        return;
      case 'slow-body':
        write(response, reply, Buffer.alloc(0));
        setTimeout(() => response.end(reply.body), fault.ms).unref();
        return;
      case 'pass':
        write(response, reply, reply.body);
        response.end();
    }
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => incoming.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    faults,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
