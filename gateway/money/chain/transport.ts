import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { ChainUnreachable } from './errors.js';

/** The way to one JSON-RPC endpoint over HTTP. */
export interface Transport {
  /**
   * Sends one body and returns the answer's text.
   * @throws ChainUnreachable; when `signal` aborts, of kind `timeout`.
   */
  post(body: string, signal: AbortSignal): Promise<string>;
  close(): void;
}

/** Bytes of one answer at the most, batches included. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
const SOCKETS_MAX = 32;
const IDLE_SOCKET_MS = 30_000;

/** Connections are kept open between calls; redirects are not followed. */
export function createTransport(url: string): Transport {
  const target = new URL(url);
  const isTls = target.protocol === 'https:';
  const limits = { keepAlive: true, maxSockets: SOCKETS_MAX, timeout: IDLE_SOCKET_MS };
  const agent = isTls ? new HttpsAgent(limits) : new HttpAgent(limits);
  const send = isTls ? httpsRequest : httpRequest;

  const once = (body: string, signal: AbortSignal) =>
    new Promise<{ text: string } | { error: ChainUnreachable; isStaleSocket: boolean }>(
      (resolve) => {
        const headers = {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        };
        const request = send(target, { method: 'POST', agent, headers, signal });
        const fail = (error: ChainUnreachable) => {
          resolve({ error, isStaleSocket: request.reusedSocket && error.kind === 'connection' });
          request.destroy();
        };
        request.on('error', (error) => fail(connectionError(error, signal)));
        request.on('response', (response) => {
          readText(response, signal).then((text) => resolve({ text }), fail);
        });
        request.end(body);
      },
    );

  return {
    post: async (body, signal) => {
      let outcome = await once(body, signal);
      // A kept connection may have been closed by the other side meanwhile: once more on a new one.
      if ('error' in outcome && outcome.isStaleSocket) outcome = await once(body, signal);
      if ('error' in outcome) throw outcome.error;
      return outcome.text;
    },
    close: () => agent.destroy(),
  };
}

function connectionError(error: Error, signal: AbortSignal): ChainUnreachable {
  if (signal.aborted) return new ChainUnreachable('timeout', 'no answer in time');
  const code = 'code' in error ? String(error.code) : 'broken connection';
  return new ChainUnreachable('connection', `no connection (${code})`);
}

const tooLarge = () =>
  new ChainUnreachable('too-large', `an answer above ${ANSWER_BYTES_MAX} bytes`);

/** @throws ChainUnreachable only. */
async function readText(response: IncomingMessage, signal: AbortSignal): Promise<string> {
  const { statusCode = 0 } = response;
  if (statusCode !== 200) throw new ChainUnreachable('http', `HTTP status ${statusCode}`);
  const chunks: Buffer[] = [];
  let length = 0;
  if (Number(response.headers['content-length'] ?? 0) > ANSWER_BYTES_MAX) throw tooLarge();
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > ANSWER_BYTES_MAX) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof ChainUnreachable) throw error;
    throw connectionError(error instanceof Error ? error : new Error(String(error)), signal);
  }
  return Buffer.concat(chunks).toString('utf8');
}
