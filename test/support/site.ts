import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface Site {
  readonly origin: string;
  /** Paths with queries in the order in which they were asked for. */
  readonly requests: string[];
  /** When each request came. */
  readonly timesMs: number[];
  /** The clock of `timesMs`; a test may put its own in its place. */
  nowMs: () => number;
  /** Answers a path with HTML, or by hand. */
  page(path: string, answer: string | Handler): void;
  /** Answers whatever no page answers. */
  otherwise(handler: Handler): void;
  close(): Promise<void>;
}

/** A web site on a free port of this machine, made page by page. */
export async function startSite(): Promise<Site> {
  const pages = new Map<string, string | Handler>();
  const requests: string[] = [];
  const timesMs: number[] = [];
  let fallback: Handler = (_request, response) => response.writeHead(404).end('not here');
  const server: Server = createServer((request, response) => {
    const path = request.url ?? '';
    requests.push(path);
    timesMs.push(site.nowMs());
    const answer = pages.get(path) ?? fallback;
    if (typeof answer !== 'string') answer(request, response);
    else response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const site: Site = {
    origin: `http://127.0.0.1:${port}`,
    requests,
    timesMs,
    nowMs: () => performance.now(),
    page: (path, answer) => void pages.set(path, answer),
    otherwise: (handler) => {
      fallback = handler;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return site;
}
