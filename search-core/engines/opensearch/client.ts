import { type OpenSearchAddress, OpenSearchError } from './api.js';

/** A reply's status and its JSON. */
export interface OpenSearchReply {
  readonly status: number;
  readonly body: unknown;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface CallOptions {
  /** JSON, or lines of it (for `_bulk`) as a string. */
  readonly body?: object | string;
  /** Milliseconds for the call, all its tries together. */
  readonly timeoutMs: number;
  /** Statuses that are an answer, besides 2xx. */
  readonly expected?: readonly number[];
}

const DETAIL_LENGTH_MAX = 500;
/** A node that did not answer is asked last for so long. */
const AVOIDED_MS = 5_000;

/**
 * Calls the REST API of a cluster at any of its nodes. All calls that are made here may be repeated:
 * one that a node does not answer, or answers with 502, 503 or 504, is sent to the next, and a node
 * that is frozen takes no more than its share of the time.
 */
export class OpenSearchClient {
  /** Until when a node is asked after the others, by origin; of `performance.now()`. */
  private readonly avoidedUntil = new Map<string, number>();
  private turn = 0;

  constructor(private readonly address: OpenSearchAddress) {}

  /**
   * @param path of the call, or a function to it from the number of the try
   * @throws OpenSearchError unless the status is 2xx or one of `expected`
   */
  async call(
    method: Method,
    path: string | ((attempt: number) => string),
    options: CallOptions,
  ): Promise<OpenSearchReply> {
    const endMs = performance.now() + options.timeoutMs;
    const origins = this.inOrder();
    let fault: unknown;
    for (const [attempt, origin] of origins.entries()) {
      const leftMs = endMs - performance.now();
      if (leftMs <= 0) break;
      const timeoutMs = leftMs / (attempt === origins.length - 1 ? 1 : 2);
      const where = typeof path === 'string' ? path : path(attempt);
      try {
        return await this.callAt(origin, method, where, { ...options, timeoutMs });
      } catch (error) {
        fault = error;
        if (!(error instanceof LostCallError)) throw error;
        this.avoidedUntil.set(origin, performance.now() + AVOIDED_MS);
      }
    }
    throw fault;
  }

  /** Those that answered when they were last asked come first, each in its turn. */
  private inOrder(): readonly string[] {
    const { origins } = this.address;
    const nowMs = performance.now();
    const start = this.turn++ % origins.length;
    const turned = [...origins.slice(start), ...origins.slice(0, start)];
    const isAvoided = (origin: string): boolean => (this.avoidedUntil.get(origin) ?? 0) > nowMs;
    return [...turned.filter((one) => !isAvoided(one)), ...turned.filter(isAvoided)];
  }

  private async callAt(
    origin: string,
    method: Method,
    path: string,
    { body, timeoutMs, expected = [] }: CallOptions,
  ): Promise<OpenSearchReply> {
    const { authorization } = this.address;
    const isLines = typeof body === 'string';
    const said = `${method} ${path}`;
    const reply = await asking(said, async () => {
      const answer = await fetch(`${origin}${path}`, {
        method,
        headers: {
          ...(body !== undefined && {
            'content-type': isLines ? 'application/x-ndjson' : 'application/json',
          }),
          ...(authorization !== undefined && { authorization }),
        },
        ...(body !== undefined && { body: isLines ? body : JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(Math.max(1, Math.ceil(timeoutMs))),
      });
      return { status: answer.status, isOk: answer.ok, text: await answer.text() };
    });
    if (!reply.isOk && !expected.includes(reply.status)) {
      const detail = `${said} answered ${reply.status}: ${reply.text.slice(0, DETAIL_LENGTH_MAX)}`;
      throw [502, 503, 504].includes(reply.status)
        ? new LostCallError(detail)
        : new OpenSearchError(detail);
    }
    const json: unknown = reply.text === '' ? {} : JSON.parse(reply.text);
    return { status: reply.status, body: json };
  }
}

/** A call that another node may answer. */
class LostCallError extends OpenSearchError {}

async function asking<T>(said: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const { cause, message } = error instanceof Error ? error : new Error(String(error));
    const why = cause instanceof Error ? cause.message : message;
    throw new LostCallError(`${said} was not answered: ${why}`);
  }
}
