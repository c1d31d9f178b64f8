import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A search-core that answers as each test tells it to, and counts. */
export interface FakeSearchCore {
  readonly url: string;
  /** What it does with the next requests. */
  behave(answer: (request: IncomingMessage, response: ServerResponse, body: string) => void): void;
  /** What it says when it is asked whether it can search; true at first. */
  isReady: boolean;
  /** Whether it is as a stopped process is: it takes connections and says nothing. */
  isFrozen: boolean;
  /** Headers of every search that came in. */
  readonly seen: readonly IncomingMessage['headers'][];
  stop(): Promise<void>;
}

/** A good answer to whatever was asked. */
export function goodAnswer(request: IncomingMessage, results: readonly object[] = []): string {
  return JSON.stringify({
    requestId: request.headers['x-request-id'],
    result: {
      results,
      searchMetadata: { executionTime: 0.001 },
      totalResults: results.length,
    },
  });
}

export async function startFakeSearchCore(port = 0): Promise<FakeSearchCore> {
  const seen: IncomingMessage['headers'][] = [];
  let answer: Parameters<FakeSearchCore['behave']>[0] = (request, response) => {
    response.end(goodAnswer(request));
  };
  const state = { isReady: true, isFrozen: false };
  const server = createServer((request, response) => {
    if (state.isFrozen) {
      if (request.url !== '/readyz') seen.push(request.headers);
      return;
    }
    if (request.url === '/readyz') {
      response
        .writeHead(state.isReady ? 200 : 503)
        .end('{"bytes":5000,"committedAt":1700000000000}');
      return;
    }
    seen.push(request.headers);
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => answer(request, response, body));
  });
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    behave: (next) => {
      answer = next;
    },
    seen,
    get isReady() {
      return state.isReady;
    },
    set isReady(value: boolean) {
      state.isReady = value;
    },
    get isFrozen() {
      return state.isFrozen;
    },
    set isFrozen(value: boolean) {
      state.isFrozen = value;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
