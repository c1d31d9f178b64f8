import { z } from 'zod';
import type { Address, Hex } from '../domain/units.js';

/** JSON-RPC to the chain. Every call has a deadline, every answer a largest size. */
export interface ChainClient {
  /**
   * One JSON-RPC request.
   * @throws RpcError when the node answered with an error, ChainUnreachable when it did not answer.
   */
  request(
    method: string,
    params: readonly unknown[],
    options?: { deadlineMs?: number },
  ): Promise<unknown>;
  /** `eth_call` on the latest block. */
  ethCall(to: Address, data: Hex, options: { deadlineMs: number }): Promise<Hex>;
  close(): Promise<void>;
}

/** The node understood the request and refused it. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  constructor(
    readonly code: number,
    message: string,
    readonly data: unknown,
  ) {
    super(message);
  }
}

/** No answer that can be used: no connection, too late, too long, or not JSON-RPC. */
export class ChainUnreachable extends Error {
  override readonly name = 'ChainUnreachable';
}

export interface ChainClientOptions {
  readonly urls: readonly string[];
  /** Told of every call that is sent, for the metrics. */
  onCall?(method: string): void;
}

const DEADLINE_MS = 5_000;
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

const answerSchema = z.union([
  z.object({
    error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }),
  }),
  z.object({ result: z.unknown() }),
]);

export function createChainClient({ urls, onCall }: ChainClientOptions): ChainClient {
  const [url] = urls;
  if (url === undefined) throw new RangeError('at least one RPC endpoint is needed');
  let id = 0;

  const request: ChainClient['request'] = async (method, params, options) => {
    id += 1;
    onCall?.(method);
    const signal = AbortSignal.timeout(options?.deadlineMs ?? DEADLINE_MS);
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
    const text = await fetchText(url, body, signal);
    const answer = answerSchema.safeParse(parse(text));
    if (!answer.success) throw new ChainUnreachable('the endpoint does not speak JSON-RPC');
    if (!('error' in answer.data)) return answer.data.result;
    const { code, message, data } = answer.data.error;
    throw new RpcError(code, message, data);
  };

  return {
    request,
    ethCall: async (to, data, options) =>
      (await request('eth_call', [{ to, data }, 'latest'], options)) as Hex,
    close: () => Promise.resolve(),
  };
}

async function fetchText(url: string, body: string, signal: AbortSignal): Promise<string> {
  try {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
    if (Number(response.headers.get('content-length') ?? 0) > ANSWER_BYTES_MAX) {
      throw new Error('the answer is too long');
    }
    return await response.text();
  } catch (error) {
    throw new ChainUnreachable('the endpoint did not answer', { cause: error });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
