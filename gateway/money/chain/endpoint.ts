import { z } from 'zod';
import type { Clock } from '../../ground/domain/ports.js';
import { ChainUnreachable, RpcError } from './errors.js';
import { createTransport, type Transport } from './transport.js';

export interface CallOptions {
  /** Milliseconds for this call alone. */
  readonly deadlineMs: number;
  /** The answer is of no use any more. */
  readonly signal?: AbortSignal;
}

/** One JSON-RPC endpoint. Calls made in the same turn of the event loop travel as one batch. */
export interface Endpoint {
  /** Number and host, for logs and metrics; never the address, which may hold a key. */
  readonly name: string;
  /** @throws RpcError, ChainUnreachable */
  call(method: string, params: readonly unknown[], options: CallOptions): Promise<unknown>;
  close(): void;
}

export interface EndpointOptions {
  readonly url: string;
  readonly name: string;
  readonly clock: Clock;
  /** Told of every call that is sent. */
  readonly onCall?: (method: string) => void;
  /** The way there; HTTP unless a simulator has another. */
  readonly connect?: (url: string) => Transport;
}

/** Calls in one batch at the most; hosted endpoints count and limit them. */
const BATCH_MAX = 50;

interface Pending {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly settle: (outcome: Outcome) => void;
  isSettled: boolean;
  /** Set once the call is on its way; ends the exchange when nobody waits for it any more. */
  onSettled?: () => void;
}

type Outcome = { readonly result: unknown } | { readonly error: RpcError | ChainUnreachable };

const errorSchema = z.object({
  code: z.number(),
  message: z.string(),
  data: z.unknown().optional(),
});
const answerSchema = z.union([
  z.object({ id: z.unknown(), error: errorSchema }),
  z.object({ id: z.number(), result: z.unknown() }),
]);
type Answer = z.infer<typeof answerSchema>;

export function createEndpoint(options: EndpointOptions): Endpoint {
  const { url, name, clock, onCall, connect = createTransport } = options;
  const transport = connect(url);
  let queue: Pending[] = [];
  let nextId = 1;
  let understandsBatches = true;

  const exchange = async (calls: readonly Pending[], isBatch: boolean): Promise<void> => {
    const answers = await send(transport, calls, isBatch);
    if (answers === 'no-batches') {
      understandsBatches = false;
      await Promise.all(calls.map((call) => exchange([call], false)));
      return;
    }
    for (const call of calls) call.settle(outcomeOf(answers, call));
  };

  const flush = () => {
    const waiting = queue.filter((call) => !call.isSettled);
    queue = [];
    for (const call of waiting) onCall?.(call.method);
    const size = understandsBatches ? BATCH_MAX : 1;
    for (let at = 0; at < waiting.length; at += size) {
      const calls = waiting.slice(at, at + size);
      void exchange(calls, calls.length > 1);
    }
  };

  const call: Endpoint['call'] = async (method, params, { deadlineMs, signal }) => {
    const timer = new AbortController();
    const outcome = await new Promise<Outcome>((resolve) => {
      const pending: Pending = {
        id: nextId++,
        method,
        params,
        isSettled: false,
        settle: (settled) => {
          if (pending.isSettled) return;
          pending.isSettled = true;
          resolve(settled);
          timer.abort();
          pending.onSettled?.();
        },
      };
      const expire = () => {
        pending.settle({
          error: new ChainUnreachable('timeout', `no answer to ${method} in time`),
        });
      };
      void clock.sleep(deadlineMs, timer.signal).then(() => {
        if (!timer.signal.aborted) expire();
      });
      signal?.addEventListener('abort', expire, { once: true, signal: timer.signal });
      if (queue.push(pending) === 1) clock.defer(flush);
    });
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  };

  return { name, call, close: () => transport.close() };
}

/** Never rejects: a failed exchange is the outcome of each of its calls. */
async function send(
  transport: Transport,
  calls: readonly Pending[],
  isBatch: boolean,
): Promise<Answer[] | ChainUnreachable | 'no-batches'> {
  const abort = new AbortController();
  let open = calls.filter((call) => !call.isSettled).length;
  if (open === 0) return [];
  for (const call of calls) {
    call.onSettled = () => {
      open -= 1;
      if (open === 0) abort.abort();
    };
  }
  const bodies = calls.map(({ id, method, params }) => ({ jsonrpc: '2.0', id, method, params }));
  try {
    const text = await transport.post(JSON.stringify(isBatch ? bodies : bodies[0]), abort.signal);
    const parsed = parse(text);
    if (isBatch && !Array.isArray(parsed)) return 'no-batches';
    const answers = z.array(answerSchema).safeParse(isBatch ? parsed : [parsed]);
    return answers.success ? answers.data : malformed();
  } catch (error) {
    if (error instanceof ChainUnreachable) return error;
    throw error;
  }
}

const malformed = () => new ChainUnreachable('malformed', 'the answer is not JSON-RPC');

/** Finds the answer to one call; an error without an id can only be meant for a lone call. */
function outcomeOf(answers: Answer[] | ChainUnreachable, call: Pending): Outcome {
  if (answers instanceof ChainUnreachable) return { error: answers };
  const answer =
    answers.find(({ id }) => id === call.id) ??
    answers.find((one) => answers.length === 1 && one.id === null && 'error' in one);
  if (!answer) return { error: malformed() };
  if (!('error' in answer)) return { result: answer.result };
  const { code, message, data } = answer.error;
  return { error: new RpcError(code, message, data) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
