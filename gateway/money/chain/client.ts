import type { Clock } from '../../ground/domain/ports.js';
import type { Address, Hex } from '../../ground/domain/units.js';
import { ChainUnreachable, isOwnTrouble, RpcError } from './errors.js';
import { agreement, isDecisive } from './judge.js';
import {
  createPool,
  type EndpointStatus,
  type Member,
  type Pool,
  type PoolOptions,
} from './pool.js';

export { ChainUnreachable, RpcError };
export type ChainClientOptions = PoolOptions;

/**
 * JSON-RPC to the chain, over one endpoint or many. Every call has a deadline, every answer a
 * largest size and a shape that fits the question.
 *
 * Reads go to the quickest endpoint, after a while to a second one too (a hedge), and to the next
 * one when the first fails or lies. Answers on which money hangs (a receipt, the state at a given
 * block) are asked of a second endpoint as well, when there is one, and must agree. Transactions go
 * to all endpoints at once. While no endpoint is usable, every call fails at once.
 */
export interface ChainClient {
  /**
   * One JSON-RPC request; `deadlineMs` (default 5,000) includes every failover.
   * @throws RpcError when the node answered with an error, ChainUnreachable when it did not answer.
   */
  request(
    method: string,
    params: readonly unknown[],
    options?: { deadlineMs?: number },
  ): Promise<unknown>;
  /** `eth_call` on the latest block. */
  ethCall(to: Address, data: Hex, options: { deadlineMs: number }): Promise<Hex>;
  /** Runs code on the latest block, as `eth_call` does without `to`: what the code returns. */
  ethRun(code: Hex, options: { deadlineMs: number }): Promise<Hex>;
  /** `eth_getCode` on the latest block: `0x` where an account has none. */
  ethCode(account: Address, options: { deadlineMs: number }): Promise<Hex>;
  /** How each endpoint stands, for metrics and health checks. */
  endpoints(): readonly EndpointStatus[];
  close(): Promise<void>;
}

const DEADLINE_MS = 5_000;
/** Times that one read is asked at the most, all endpoints together. */
const ASKED_MAX = 3;
/** A second endpoint is asked when the first takes this many times its usual time. */
const HEDGE = { factor: 3, minMs: 100, maxMs: 750 };

export function createChainClient(options: ChainClientOptions): ChainClient {
  const { clock } = options;
  const pool = createPool(options);
  const request: ChainClient['request'] = async (method, params, { deadlineMs } = {}) => {
    const call: Call = {
      method,
      params,
      untilMs: clock.monotonicMs() + (deadlineMs ?? DEADLINE_MS),
    };
    const members = await pool.ready(remainingMs(clock, call));
    if (method === 'eth_sendRawTransaction') return broadcast(pool, clock, members, call);
    const first = await read(pool, clock, members, call);
    if (!isDecisive(method, params, first.answer)) return first.answer;
    return confirm(pool, clock, members, call, first);
  };
  return {
    request,
    ethCall: async (to, data, callOptions) =>
      (await request('eth_call', [{ to, data }, 'latest'], callOptions)) as Hex,
    ethRun: async (code, callOptions) =>
      (await request('eth_call', [{ data: code }, 'latest'], callOptions)) as Hex,
    ethCode: async (account, callOptions) =>
      (await request('eth_getCode', [account, 'latest'], callOptions)) as Hex,
    endpoints: () => pool.status(),
    close: () => {
      pool.close();
      return Promise.resolve();
    },
  };
}

/** How long a second opinion may take; without one, nothing is decided this time. */
const CONFIRM_MS = 1_500;

interface Call {
  readonly method: string;
  readonly params: readonly unknown[];
  /** Monotonic time at which the caller stops waiting. */
  readonly untilMs: number;
}

interface Answered {
  readonly answer: unknown;
  readonly by: Member;
}

const remainingMs = (clock: Clock, { untilMs }: Call) => Math.max(1, untilMs - clock.monotonicMs());

/**
 * The first good answer of up to three attempts. The next endpoint is asked when one has failed, or
 * when it takes unusually long; with a single endpoint, a failed attempt is repeated there.
 */
async function read(
  pool: Pool,
  clock: Clock,
  members: readonly Member[],
  call: Call,
): Promise<Answered> {
  const waiting = [...members, ...members, ...members].slice(0, ASKED_MAX);
  const over = new AbortController();
  try {
    return await new Promise<Answered>((resolve, reject) => {
      const errors: Error[] = [];
      let running = 0;
      const askNext = () => {
        const by = waiting.shift();
        if (!by || over.signal.aborted) return;
        if (errors.length > 0 && by.health.standing() !== 'ready') {
          askNext();
          return;
        }
        running += 1;
        const limits = { deadlineMs: remainingMs(clock, call), signal: over.signal };
        const asked = pool.ask(by, call.method, call.params, limits);
        asked.then(
          (answer) => resolve({ answer, by }),
          (reason: unknown) => {
            const error = reason instanceof Error ? reason : new Error(String(reason));
            if (error instanceof RpcError && !isOwnTrouble(error)) reject(error);
            errors.push(error);
            running -= 1;
            if (running === 0) askNext();
            if (running === 0) reject(tellingError(errors));
          },
        );
        void clock.sleep(hedgeAfterMs(by), over.signal).then(() => {
          if (running === 1 && waiting[0] !== by) askNext();
        });
      };
      askNext();
    });
  } finally {
    over.abort();
  }
}

function hedgeAfterMs({ health }: Member): number {
  return Math.min(Math.max(health.latencyMs() * HEDGE.factor, HEDGE.minMs), HEDGE.maxMs);
}

/**
 * Asks a second endpoint the same. A receipt that only one of them knows does not count yet: the
 * other one may be a block behind, or the first one makes it up. One that is caught lying here is
 * left, and has no say.
 */
async function confirm(
  pool: Pool,
  clock: Clock,
  members: readonly Member[],
  call: Call,
  first: Answered,
): Promise<unknown> {
  const { answer, by } = first;
  const others = members.filter((one) => one !== by && one.health.standing() === 'ready');
  if (others.length === 0) return answer;
  const untilMs = Math.min(call.untilMs, clock.monotonicMs() + CONFIRM_MS);
  const second = await read(pool, clock, others, { ...call, untilMs }).catch((error: unknown) => {
    if (error instanceof ChainUnreachable && error.kind === 'lie') return undefined;
    throw error;
  });
  if (!second) return confirm(pool, clock, members, call, first);
  if (second.answer === null) return null;
  const agreed = agreement(call.method, answer, second.answer);
  if (agreed !== undefined) return agreed;
  throw new ChainUnreachable(
    'disagreement',
    `${by.endpoint.name} and ${second.by.endpoint.name} answer ${call.method} differently`,
  );
}

/** Sends to every endpoint; the first that takes it decides, and the others still get it. */
async function broadcast(
  pool: Pool,
  clock: Clock,
  members: readonly Member[],
  call: Call,
): Promise<unknown> {
  const limits = { deadlineMs: remainingMs(clock, call) };
  const sends = members.map((one) => pool.ask(one, call.method, call.params, limits));
  try {
    return await Promise.any(sends);
  } catch (error) {
    if (!(error instanceof AggregateError)) throw error;
    throw tellingError(error.errors as Error[]);
  }
}

/**
 * Which of several errors to tell: what a node said is worth more than that another one was silent,
 * and that one has the transaction already is worth more than anything.
 */
function tellingError(errors: readonly Error[]): Error {
  const said = errors.filter((error) => error instanceof RpcError);
  return (
    said.find(({ message }) => /already|known transaction/i.test(message)) ??
    said[0] ??
    errors[0] ??
    new Error('no endpoint was asked')
  );
}
