import { ChainUnreachable } from '../../gateway/money/chain/errors.js';
import type { Transport } from '../../gateway/money/chain/transport.js';
import type { Dice } from './dice.js';
import { NodeError, type Answer } from './chain/node.js';
import { never, type SimProcess } from './process.js';
import type { VirtualTime } from './time.js';
import type { Trace } from './trace.js';

/** What may happen between a gateway and one endpoint: probabilities from 0 to 1. */
export interface NetworkWeather {
  slow: number;
  lostRequest: number;
  lostAnswer: number;
  duplicated: number;
  refused: number;
  httpError: number;
  garbage: number;
  lie: number;
}

export const CALM: NetworkWeather = {
  slow: 0,
  lostRequest: 0,
  lostAnswer: 0,
  duplicated: 0,
  refused: 0,
  httpError: 0,
  garbage: 0,
  lie: 0,
};

/** Bends one answer of a node; undefined when this lie does not fit the question. */
export type Liar = (method: string, params: readonly unknown[], answer: unknown) => unknown;

/** One JSON-RPC endpoint on the network. */
export interface NetworkEndpoint {
  readonly name: string;
  readonly answer: Answer;
  readonly liar: Liar;
  weather: NetworkWeather;
  isDown: boolean;
}

interface Question {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

interface Surroundings {
  readonly time: VirtualTime;
  readonly dice: Dice;
  readonly trace: Trace;
}

/** The way from one process to one endpoint, below the gateway's own client. */
export function createTransport(
  process: SimProcess,
  endpoint: NetworkEndpoint,
  { time, dice, trace }: Surroundings,
): Transport {
  let sent = 0;
  let newest = 0;
  const ms = (min: number, max: number) => min + dice.unit() * (max - min);

  const oneWayMs = () => {
    if (!dice.chance(endpoint.weather.slow)) return ms(1, 20);
    trace.count('rpc.slow', endpoint.name);
    return ms(500, 6000);
  };

  const once = (body: string, number: number, done: (end: string | ChainUnreachable) => void) => {
    const { weather } = endpoint;
    const fail = (delayMs: number, error: ChainUnreachable) => {
      time.after(delayMs, () => done(error));
    };
    if (endpoint.isDown || dice.chance(weather.refused)) {
      trace.count(endpoint.isDown ? 'endpoint.outage' : 'rpc.refused', endpoint.name);
      fail(ms(1, 5), new ChainUnreachable('connection', 'no connection (ECONNREFUSED)'));
      return;
    }
    if (dice.chance(weather.lostRequest)) {
      trace.count('rpc.lost-request', endpoint.name);
      if (dice.chance(0.5))
        fail(ms(5, 3000), new ChainUnreachable('connection', 'no connection (ECONNRESET)'));
      return;
    }
    time.after(oneWayMs(), () => {
      const text = respond(endpoint, body, dice, trace);
      if (dice.chance(weather.lostAnswer)) {
        trace.count('rpc.lost-answer', endpoint.name);
        if (dice.chance(0.5))
          fail(ms(1, 3000), new ChainUnreachable('connection', 'no connection (ECONNRESET)'));
        return;
      }
      time.after(oneWayMs(), () => {
        if (number < newest) trace.count('rpc.reordered', endpoint.name);
        newest = Math.max(newest, number);
        if (dice.chance(weather.httpError)) {
          trace.count('rpc.http-error', endpoint.name);
          done(new ChainUnreachable('http', `HTTP status ${dice.pick([429, 500, 502, 503])}`));
        } else if (dice.chance(weather.garbage)) {
          trace.count('rpc.garbage', endpoint.name);
          done(dice.pick(['<html>busy</html>', '', '{}', '[]', text.slice(0, text.length >> 1)]));
        } else done(text);
      });
    });
  };

  return {
    post: (body, signal) => {
      if (!process.isAlive) return never();
      const number = (sent += 1);
      return new Promise<string>((resolve, reject) => {
        const timeout = () => {
          if (process.isAlive) reject(new ChainUnreachable('timeout', 'no answer in time'));
        };
        if (signal.aborted) timeout();
        signal.addEventListener('abort', timeout, { once: true });
        once(body, number, (end) => {
          signal.removeEventListener('abort', timeout);
          if (!process.isAlive) return;
          if (typeof end === 'string') resolve(end);
          else reject(end);
        });
        if (dice.chance(endpoint.weather.duplicated)) {
          trace.count('rpc.duplicated', endpoint.name);
          time.after(ms(0, 2000), () => void respond(endpoint, body, dice, trace));
        }
      });
    },
    close: () => undefined,
  };
}

/** What the endpoint makes of one body: a batch or a lone call. */
function respond(endpoint: NetworkEndpoint, body: string, dice: Dice, trace: Trace): string {
  const asked = JSON.parse(body) as Question | Question[];
  const answers = [asked].flat().map(({ id, method, params }) => {
    try {
      const honest = endpoint.answer(method, params);
      const lies = dice.chance(endpoint.weather.lie);
      const lie = lies ? endpoint.liar(method, params, honest) : undefined;
      trace.event('rpc', endpoint.name, method, lie === undefined ? 'answered' : 'lied');
      return { jsonrpc: '2.0', id, result: lie === undefined ? honest : lie };
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      const { code, message, data } = error;
      trace.event('rpc', endpoint.name, method, message);
      return { jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } };
    }
  });
  if (Array.isArray(asked) && answers.length > 1 && dice.chance(0.2)) answers.reverse();
  return JSON.stringify(Array.isArray(asked) ? answers : answers[0]);
}
