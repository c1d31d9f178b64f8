import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { GENERATION_HEADER, type SearchRequest, type SearchResponse } from '../contract.js';
import { type Engine, type SearchLimits, UnavailableError } from '../engine.js';
import * as http from './http.js';
import { ServiceMetrics } from './metrics.js';

/** What the service tells an operator; pino's signature. */
export interface ServiceLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface ServiceOptions {
  readonly engine: Engine;
  readonly limits: SearchLimits;
  /** Searches that may wait or run at once; one more is a 503. */
  readonly searchesMax: number;
  readonly log: ServiceLog;
}

/** Slow senders are cut off: the gateway on the other side is fast. */
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * search-core over HTTP: `POST /search`, `/livez`, `/readyz`, `/metrics`. It trusts its caller, so
 * it stands on loopback or a socket; who may search, and who pays, is the gateway's business.
 */
export class SearchService {
  readonly server: Server;
  private readonly metrics: ServiceMetrics;
  private inFlight = 0;
  private draining = false;

  constructor(private readonly options: ServiceOptions) {
    this.metrics = new ServiceMetrics(options.engine);
    this.server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
      void this.handle(request, response);
    });
  }

  /** Refuses new searches, waits for the running ones, closes the server. */
  async drain(): Promise<void> {
    this.draining = true;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeIdleConnections();
    await closed;
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = http.requestIdOf(request);
    try {
      await this.route(request, response, requestId);
    } catch (error) {
      if (request.destroyed && !request.complete) return;
      if (error instanceof UnavailableError) {
        this.options.log.warn({ reason: error.message, requestId }, 'nothing can be searched now');
        http.sendProblem(response, requestId, http.UNAVAILABLE, { 'retry-after': '1' });
        return;
      }
      this.options.log.error({ err: error, requestId }, 'a request failed');
      http.sendProblem(response, requestId, http.INTERNAL);
    }
  }

  private async route(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
  ): Promise<void> {
    switch (request.url?.split('?', 1)[0]) {
      case '/search':
        if (request.method === 'POST') return this.search(request, response, requestId);
        http.sendProblem(response, requestId, http.METHOD_NOT_ALLOWED, { allow: 'POST' });
        return;
      case '/livez':
        http.sendJson(response, 200, requestId, { status: 'alive' });
        return;
      case '/readyz':
        return this.readiness(response, requestId);
      case '/metrics':
        response.writeHead(200, { 'content-type': this.metrics.contentType });
        response.end(await this.metrics.text());
        return;
      default:
        http.sendProblem(response, requestId, http.NOT_FOUND);
    }
  }

  private async readiness(response: ServerResponse, requestId: string): Promise<void> {
    const stats = await this.options.engine.stats();
    const ready = !this.draining && stats.generation > 0;
    const status = this.draining ? 'draining' : ready ? 'ready' : 'no index yet';
    http.sendJson(response, ready ? 200 : 503, requestId, { status, ...stats });
  }

  private async search(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
  ): Promise<void> {
    const parsed = await this.parse(request);
    if ('status' in parsed) {
      const close: Record<string, string> = parsed.status === 413 ? { connection: 'close' } : {};
      http.sendProblem(response, requestId, parsed, close);
      return;
    }
    if (this.draining || this.inFlight >= this.options.searchesMax) {
      this.metrics.refused();
      const refusal = this.draining ? http.DRAINING : http.OVERLOADED;
      http.sendProblem(response, requestId, refusal, { 'retry-after': '1' });
      return;
    }
    const { body, generation } = await this.answer(parsed, requestId);
    const headers = generation === undefined ? {} : { [GENERATION_HEADER]: String(generation) };
    http.sendJson(response, 200, requestId, body, headers);
  }

  private async parse(request: IncomingMessage): Promise<SearchRequest | http.Problem> {
    const media = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
    if (media !== 'application/json') return http.UNSUPPORTED_MEDIA;
    const body = await http.readBody(request);
    return 'status' in body ? body : http.parseSearchRequest(body);
  }

  private async answer(
    request: SearchRequest,
    requestId: string,
  ): Promise<{ body: SearchResponse; generation: number | undefined }> {
    const started = performance.now();
    this.inFlight++;
    this.metrics.started();
    try {
      const { results, metrics } = await this.options.engine.search(request, this.options.limits);
      const executionTime = (performance.now() - started) / 1000;
      this.metrics.answered(executionTime, metrics);
      const searchMetadata = { executionTime };
      const result = { results, searchMetadata, totalResults: results.length };
      return { body: { requestId, result }, generation: metrics.generation };
    } catch (error) {
      this.metrics.failed();
      throw error;
    } finally {
      this.inFlight--;
    }
  }
}
