/**
 * Sees every answer that the service's own app gives in this process, whoever asks for it and
 * however: Node tells of each request that any server takes up (`diagnostics_channel`).
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
// Before anything listens: a channel that Node's http does not hold yet may be collected and made
// anew, and whoever listens afterwards hears nothing.
import 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Exchange } from './interface-document.js';

const CHANNEL = 'http.server.request.start';
let exchanges: Exchange[] = [];

/** The answers since the last call. */
export function takeExchanges(): readonly Exchange[] {
  const taken = exchanges;
  exchanges = [];
  return taken;
}

/**
 * Adds an answer as its caller saw it: what Node's HTTP server refuses before there is a request is
 * written to the socket, and nothing tells of it here.
 */
export function noteAnswer(exchange: Exchange): void {
  exchanges.push(exchange);
}

/** Starts to listen, and tells of each answer that there was one; returns how to stop. */
export function watchAnswers(onAnswer: () => void): () => void {
  const onRequest = (message: unknown) => keepAnswer(message, onAnswer);
  subscribe(CHANNEL, onRequest);
  return () => void unsubscribe(CHANNEL, onRequest);
}

function keepAnswer(message: unknown, onAnswer: () => void): void {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  const { method = '', url = '' } = request;
  const chunks: Buffer[] = [];
  const keep = (chunk: unknown) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  const { write, end } = response;
  response.write = ((...args: Parameters<typeof write>) => {
    keep(args[0]);
    return write.apply(response, args);
  }) as typeof write;
  response.end = ((...args: Parameters<typeof end>) => {
    keep(args[0]);
    if (isOfTheApp(response)) {
      const headers = Object.fromEntries(
        Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)]),
      );
      const path = url.split('?')[0] ?? '';
      exchanges.push({
        ...{ method, path, headers, status: response.statusCode },
        body: Buffer.concat(chunks),
      });
      onAnswer();
    }
    return end.apply(response, args);
  }) as typeof end;
}

/** The app of either face gives each request an id; other servers of the tests do not. */
function isOfTheApp(response: ServerResponse): boolean {
  const { locals } = response as { locals?: { requestId?: unknown } };
  return locals?.requestId !== undefined;
}
