/**
 * A JSON-RPC proxy that misbehaves on demand, over real sockets:
 *   const proxy = await startRpcProxy(chain.rpcUrl, { seed: 1 });   // honest until told otherwise
 *   proxy.rules([{ method: 'eth_call', fault: delay(300), probability: 0.2 }]);  // replaces all rules
 *   proxy.rules([{ fault: lies.chainId(1) }]);                      // no method: every call
 *   proxy.url; proxy.calls('eth_call'); proxy.isDown = true; await proxy.stop();
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}
type Answer = { readonly result: unknown } | { readonly error: { code: number; message: string } };

/** What goes wrong with the HTTP exchange that carries the call. */
type Exchange =
  | { readonly kind: 'delay'; readonly ms: number }
  /** Neither forwarded nor answered; the connection stays open. */
  | { readonly kind: 'swallow' }
  /** Forwarded; the answer never comes. */
  | { readonly kind: 'swallow-answer' }
  | { readonly kind: 'reset' }
  /** Forwarded; then the connection is reset. */
  | { readonly kind: 'reset-after' }
  /** Forwarded twice. */
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'http'; readonly status: number }
  | { readonly kind: 'body'; readonly change: (honest: string) => string };

/** What goes wrong with the answer to one call. */
interface Lie {
  readonly kind: 'answer';
  readonly change: (honest: Answer, call: Call) => Answer;
}

export type Fault = Exchange | Lie;

export interface Rule {
  /** Which calls; when left out, every exchange (once, also with many calls) or every answer. */
  readonly method?: string;
  readonly fault: Fault;
  /** 0 to 1; default 1. */
  readonly probability?: number;
}

export const delay = (ms: number): Fault => ({ kind: 'delay', ms });
export const swallow: Fault = { kind: 'swallow' };
export const swallowAnswer: Fault = { kind: 'swallow-answer' };
export const reset: Fault = { kind: 'reset' };
export const resetAfter: Fault = { kind: 'reset-after' };
export const duplicate: Fault = { kind: 'duplicate' };
export const httpStatus = (status: number): Fault => ({ kind: 'http', status });
export const malformed: Fault = { kind: 'body', change: () => '<html>busy</html>' };
export const truncated: Fault = {
  kind: 'body',
  change: (honest) => honest.slice(0, Math.floor(honest.length / 2)),
};
/** 9 MiB of valid JSON. */
export const huge: Fault = {
  kind: 'body',
  change: () => JSON.stringify({ jsonrpc: '2.0', id: 1, result: 'x'.repeat(9 * 1024 * 1024) }),
};
export const rpcError = (code: number, message: string): Fault => ({
  kind: 'answer',
  change: () => ({ error: { code, message } }),
});

const changed = (change: (result: Record<string, unknown>, call: Call) => unknown): Fault => ({
  kind: 'answer',
  change: (honest, call) =>
    'result' in honest && typeof honest.result === 'object' && honest.result !== null
      ? { result: change(honest.result as Record<string, unknown>, call) }
      : honest,
});

const shiftTime = (seconds: number) =>
  changed((block) =>
    typeof block.timestamp === 'string'
      ? { ...block, timestamp: `0x${(Number(block.timestamp) + seconds).toString(16)}` }
      : block,
  );

/** Untruths that are well-formed. */
export const lies = {
  chainId: (id: number): Fault => ({
    kind: 'answer',
    change: (honest, { method }) =>
      method === 'eth_chainId' ? { result: `0x${id.toString(16)}` } : honest,
  }),
  /** Blocks whose time is this much later (negative: earlier) than in truth. */
  blockTime: (seconds: number): Fault => shiftTime(seconds),
  /** A receipt of success for any transaction, mined or not, without logs. */
  receipt: {
    kind: 'answer',
    change: (honest, { method, params: [hash] }) =>
      method === 'eth_getTransactionReceipt'
        ? {
            result: {
              transactionHash: hash,
              blockHash: `0x${'fa'.repeat(32)}`,
              blockNumber: '0x1',
              status: '0x1',
              gasUsed: '0x5208',
              effectiveGasPrice: '0x1',
              logs: [],
            },
          }
        : honest,
  } satisfies Fault,
  /** The receipt of another transaction. */
  otherReceipt: changed((receipt) => ({ ...receipt, transactionHash: `0x${'cd'.repeat(32)}` })),
  transactionHash: {
    kind: 'answer',
    change: () => ({ result: `0x${'ee'.repeat(32)}` }),
  } satisfies Fault,
  alreadyKnown: rpcError(-32000, 'already known'),
  nonceTooLow: rpcError(-32000, 'nonce too low'),
  word: { kind: 'answer', change: () => ({ result: 'soon' }) } satisfies Fault,
  /** Any call to a contract returns zero. */
  zero: { kind: 'answer', change: () => ({ result: `0x${'00'.repeat(32)}` }) } satisfies Fault,
} as const;

export type RpcProxy = Awaited<ReturnType<typeof startRpcProxy>>;

/** Starts a proxy in front of `target`; the same seed and the same calls give the same faults. */
export async function startRpcProxy(target: string, { seed = 1, batches = true } = {}) {
  const random = seededRandom(seed);
  const counts = new Map<string, number>();
  let rules: readonly Rule[] = [];
  const state = { isDown: false };
  const exchanges = { total: 0, spoiled: 0 };

  const rolled = (isMeant: (rule: Rule) => boolean) =>
    rules
      .filter(isMeant)
      .filter(({ probability = 1 }) => random() < probability)
      .map(({ fault }) => fault);
  /** A rule without a method: a lie is told by call, anything else befalls the exchange as a whole. */
  const isForExchange = ({ method, fault }: Rule) =>
    method === undefined && fault.kind !== 'answer';
  const callFaults = (calls: readonly Call[]) =>
    calls.map((call) =>
      rolled((rule) => !isForExchange(rule) && (rule.method ?? call.method) === call.method),
    );

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (state.isDown) {
      request.socket.resetAndDestroy();
      return;
    }
    const text = await readAll(request);
    const parsed = JSON.parse(text) as Call | Call[];
    const calls = [parsed].flat();
    for (const { method } of calls) counts.set(method, (counts.get(method) ?? 0) + 1);
    if (Array.isArray(parsed) && !batches) {
      reply(response, JSON.stringify({ id: null, error: { code: -32600, message: 'no batches' } }));
      return;
    }
    const faults = callFaults(calls);
    const exchange = [...rolled(isForExchange), ...faults.flat()].find(
      (fault): fault is Exchange => fault.kind !== 'answer',
    );
    exchanges.total += 1;
    if (exchange || faults.some((ofCall) => ofCall.length > 0)) exchanges.spoiled += 1;
    if (exchange?.kind === 'delay') await sleep(exchange.ms, undefined, { ref: false });
    if (exchange?.kind === 'swallow') return;
    if (exchange?.kind === 'reset') request.socket.resetAndDestroy();
    if (exchange?.kind === 'reset') return;
    if (exchange?.kind === 'http') {
      response.writeHead(exchange.status).end('no');
      return;
    }
    if (exchange?.kind === 'duplicate') await forward(target, text);
    const honest = [JSON.parse(await forward(target, text)) as Answer | Answer[]].flat();
    if (exchange?.kind === 'swallow-answer') return;
    if (exchange?.kind === 'reset-after') {
      request.socket.resetAndDestroy();
      return;
    }
    const answers = honest.map((answer, at) => bend(answer, calls[at], faults[at] ?? []));
    const body = JSON.stringify(Array.isArray(parsed) ? answers : answers[0]);
    reply(response, exchange?.kind === 'body' ? exchange.change(body) : body);
  };

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    rules: (next: readonly Rule[]) => {
      rules = next;
    },
    /** How many calls came, of one method or all. */
    calls: (method?: string) =>
      method === undefined
        ? [...counts.values()].reduce((sum, count) => sum + count, 0)
        : (counts.get(method) ?? 0),
    /** HTTP exchanges so far, and how many of them went wrong in some way. */
    exchanges: () => ({ ...exchanges }),
    /** While true, every connection is reset. */
    set isDown(value: boolean) {
      state.isDown = value;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function bend(honest: Answer, call: Call | undefined, faults: readonly Fault[]): object {
  const lie = faults.find((fault): fault is Lie => fault.kind === 'answer');
  return lie && call ? { jsonrpc: '2.0', id: call.id, ...lie.change(honest, call) } : honest;
}

function reply(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
}

async function forward(target: string, body: string): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  return (await fetch(target, { method: 'POST', headers, body })).text();
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** A small generator of uniform numbers below 1 from a seed (Tommy Ettinger's mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
