import { z } from 'zod';
import type { Clock, Log, Random } from '../../ground/domain/ports.js';
import { createHealth } from './health.js';
import { openWebSocket, type OpenSocket, type Socket } from './web-socket.js';

/**
 * Tells when a block is there, pushed by an endpoint (`eth_subscribe`, `newHeads`). What it says
 * is a hint about when to look, and nothing else is ever taken from it.
 */
export interface HeadFeed {
  /** Calls the listener at each head, in place of an earlier listener. */
  listen(listener: () => void): void;
  status(): HeadFeedStatus;
  close(): Promise<void>;
}

export interface HeadFeedStatus {
  /** True while an endpoint of the right chain has the subscription. */
  readonly isUp: boolean;
  /** Heads since the start, and how often the feed was lost or could not be had. */
  readonly heads: number;
  readonly losses: number;
}

export interface HeadFeedOptions {
  /** `ws://` or `wss://`. */
  readonly url: string;
  /** What the endpoint must answer to `eth_chainId`. */
  readonly chainId: number;
  /** Milliseconds from block to block. */
  readonly blockTimeMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly open?: OpenSocket;
}

/** Block times without a head after which the endpoint is left; connecting takes part of it. */
const SILENT_BLOCKS = 5;
/** Messages in one block time after which it is left: nothing that is true comes so often. */
const MESSAGES_MAX = 20;

const quantity = z.string().regex(/^0x[0-9a-fA-F]{1,16}$/);
const header = z.object({ number: quantity, hash: z.string().regex(/^0x[0-9a-fA-F]{64}$/) });
const ids = { chainId: 1, subscription: 2 } as const;
const message = z.union([
  z.object({ id: z.literal(ids.chainId), result: quantity }),
  z.object({ id: z.literal(ids.subscription), result: z.string().min(1).max(128) }),
  z.object({
    method: z.literal('eth_subscription'),
    params: z.object({ subscription: z.string(), result: header }),
  }),
  z.object({ id: z.number(), error: z.object({ code: z.number() }) }),
]);

/** Why a connection ended. */
interface Loss {
  readonly why: string;
  readonly isWrongChain?: true;
}

/**
 * Keeps one subscription. When the socket is lost, silent, or talks nonsense, it is opened again
 * after a pause that doubles from one second to half a minute; a head ends the row.
 */
export function createHeadFeed(options: HeadFeedOptions): HeadFeed {
  const { clock, random, log } = options;
  const health = createHealth(clock, random);
  const endpoint = new URL(options.url).host;
  const stopping = new AbortController();
  const isStopping = () => stopping.signal.aborted;
  let listener = (): void => undefined;
  let isUp = false;
  let heads = 0;
  let losses = 0;
  let isKnownLost = false;

  const onUp = () => {
    isUp = true;
    log.info({ endpoint }, 'new blocks are announced');
  };
  const onHead = () => {
    heads += 1;
    isKnownLost = false;
    health.answered(0);
    listener();
  };
  const keep = async () => {
    while (!isStopping()) {
      const { why, isWrongChain } = await connect(options, { onUp, onHead }, stopping.signal);
      isUp = false;
      if (isStopping()) return;
      losses += 1;
      if (isWrongChain) health.lied();
      else health.failed();
      const retryMs = Math.round(health.coolingMs());
      const fields = { endpoint, reason: why, retryMs };
      if (isKnownLost) log.debug(fields, 'new blocks are still not announced');
      else log.warn(fields, 'new blocks are not announced; they are polled for');
      isKnownLost = true;
      await clock.sleep(retryMs, stopping.signal);
    }
  };
  const kept = keep();
  return {
    listen: (next) => {
      listener = next;
    },
    status: () => ({ isUp, heads, losses }),
    close: async () => {
      stopping.abort();
      await kept;
    },
  };
}

interface Events {
  /** The endpoint serves the right chain, and the subscription stands. */
  onUp(): void;
  onHead(): void;
}

/** One connection, from its opening to its end; resolves with why it ended. */
async function connect(
  { url, chainId, blockTimeMs, clock, open = openWebSocket }: HeadFeedOptions,
  events: Events,
  signal: AbortSignal,
): Promise<Loss> {
  const over = new AbortController();
  const ended = new Promise<Loss>((resolve) => {
    over.signal.addEventListener('abort', () => resolve(over.signal.reason as Loss));
  });
  const end = (loss: Loss) => over.abort(loss);
  const allows = createAllowance(blockTimeMs, clock);
  const silence = createSilence(SILENT_BLOCKS * blockTimeMs, clock, over.signal);
  let subscription: string | undefined;
  const ask = (id: number, method: string, params: readonly unknown[]) =>
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  const socket: Socket = open(url, {
    onOpen: () => ask(ids.chainId, 'eth_chainId', []),
    onText: (text) => {
      if (over.signal.aborted) return;
      if (!allows()) {
        end({ why: `more than ${MESSAGES_MAX} messages in a block time` });
        return;
      }
      const said = parse(text);
      if (!said) end({ why: 'it says what is not JSON-RPC' });
      else if ('error' in said) end({ why: `it refuses with code ${said.error.code}` });
      else if ('params' in said) {
        if (said.params.subscription !== subscription) return;
        silence.broken();
        events.onHead();
      } else if (said.id === ids.subscription) {
        subscription = said.result;
        events.onUp();
      } else if (Number(said.result) !== chainId) {
        end({ why: `chain id ${Number(said.result)} instead of ${chainId}`, isWrongChain: true });
      } else ask(ids.subscription, 'eth_subscribe', ['newHeads']);
    },
    onClose: (why) => end({ why }),
  });
  const onStop = () => end({ why: 'stopped' });
  if (signal.aborted) onStop();
  signal.addEventListener('abort', onStop, { once: true });
  void silence.lasts().then((why) => end({ why }));
  const loss = await ended;
  signal.removeEventListener('abort', onStop);
  socket.close();
  return loss;
}

/** Whether one more message may come in this block time. */
function createAllowance(blockTimeMs: number, clock: Clock): () => boolean {
  let sinceMs = -Infinity;
  let count = 0;
  return () => {
    if (clock.monotonicMs() - sinceMs > blockTimeMs) {
      sinceMs = clock.monotonicMs();
      count = 0;
    }
    count += 1;
    return count <= MESSAGES_MAX;
  };
}

/** Waits for a silence of this length. */
function createSilence(limitMs: number, clock: Clock, signal: AbortSignal) {
  let sinceMs = clock.monotonicMs();
  const lasts = async (): Promise<string> => {
    for (;;) {
      const leftMs = sinceMs + limitMs - clock.monotonicMs();
      if (leftMs <= 0 || signal.aborted) return `no new block in ${limitMs} ms`;
      await clock.sleep(leftMs, signal);
    }
  };
  return {
    broken: () => {
      sinceMs = clock.monotonicMs();
    },
    lasts,
  };
}

function parse(text: string): z.infer<typeof message> | undefined {
  try {
    return message.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
