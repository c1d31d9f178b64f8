import type { OpenSocket } from '../../gateway/money/chain/web-socket.js';
import { CHAIN_ID, type Chain } from './chain/chain.js';
import type { Dice } from './dice.js';
import type { SimProcess } from './process.js';
import type { VirtualTime } from './time.js';
import type { Trace } from './trace.js';

/** What may happen to announcements: probabilities from 0 to 1, for each block and listener. */
export interface HeadFeedWeather {
  late: number;
  lost: number;
  /** Heads of blocks that are not there, a flood of them at times. */
  madeUp: number;
  nonsense: number;
  broken: number;
  /** For each connection: it is refused, or the other end serves another chain. */
  refused: number;
  otherChain: number;
}

export const QUIET: HeadFeedWeather = {
  late: 0,
  lost: 0,
  madeUp: 0,
  nonsense: 0,
  broken: 0,
  refused: 0,
  otherChain: 0,
};

/** One subscription, as the head feed sees it. */
interface Line {
  say(message: object | string, afterMs: number): void;
  break(): void;
}

const SUBSCRIPTION = '0x5e';

/** A WebSocket endpoint that announces blocks (`newHeads`) to whoever has subscribed. */
export class SimulatedHeadFeed {
  weather: HeadFeedWeather = QUIET;
  readonly #lines = new Set<Line>();
  #announced = '';

  constructor(
    private readonly parts: {
      readonly chain: Pick<Chain, 'head'>;
      readonly time: VirtualTime;
      readonly dice: Dice;
      readonly trace: Trace;
    },
  ) {}

  /** The way to it from one process. */
  socketsFor(process: SimProcess): OpenSocket {
    const { time, dice, trace } = this.parts;
    return (_url, events) => {
      let isOpen = true;
      const later = (ms: number, tell: () => void) =>
        time.after(ms, () => {
          if (isOpen && process.isAlive) tell();
        });
      const drop = () => {
        isOpen = false;
        this.#lines.delete(line);
      };
      const end = (why: string) => {
        drop();
        events.onClose(why);
      };
      const line: Line = {
        say: (message, afterMs) =>
          later(afterMs, () =>
            events.onText(typeof message === 'string' ? message : JSON.stringify(message)),
          ),
        break: () => void later(dice.between(0, 2000), () => end('ECONNRESET')),
      };
      process.onDeath(drop);
      if (dice.chance(this.weather.refused)) {
        trace.count('head.refused', process.name);
        later(1, () => end('ECONNREFUSED'));
      } else later(dice.between(2, 60), () => events.onOpen());
      return { send: (text) => this.#answer(text, line), close: drop };
    };
  }

  #answer(text: string, line: Line): void {
    const { dice, trace } = this.parts;
    const { id, method } = JSON.parse(text) as { id: number; method: string };
    const answer = (result: string) =>
      line.say({ jsonrpc: '2.0', id, result }, dice.between(2, 60));
    if (method === 'eth_subscribe') {
      this.#lines.add(line);
      answer(SUBSCRIPTION);
      return;
    }
    const isOther = dice.chance(this.weather.otherChain);
    if (isOther) trace.count('head.other-chain');
    answer(`0x${(isOther ? 1 : CHAIN_ID).toString(16)}`);
  }

  /** Tells of the newest block where it is news. */
  announce(): void {
    const { head } = this.parts.chain;
    const isNews = head.hash !== this.#announced;
    this.#announced = head.hash;
    for (const line of this.#lines) {
      this.#disturb(line);
      if (isNews) this.#tell(line, head);
    }
  }

  #tell(line: Line, { number, hash }: { number: number; hash: string }): void {
    const { dice, trace } = this.parts;
    const { late, lost } = this.weather;
    if (dice.chance(lost)) {
      trace.count('head.lost');
      return;
    }
    const isLate = dice.chance(late);
    trace.count(isLate ? 'head.late' : 'head.announced');
    line.say(header(number, hash), isLate ? dice.between(300, 9000) : dice.between(2, 60));
  }

  #disturb(line: Line): void {
    const { dice, trace, chain } = this.parts;
    const { madeUp, nonsense, broken } = this.weather;
    if (dice.chance(madeUp)) {
      const heads = dice.pick([1, 2, 5, 40]);
      trace.count('head.made-up', String(heads));
      const hash = `0x${'ab'.repeat(32)}`;
      for (let count = 0; count < heads; count += 1)
        line.say(header(chain.head.number + count, hash), dice.between(0, 1900));
    }
    if (dice.chance(nonsense)) {
      trace.count('head.nonsense');
      line.say(dice.pick(['', '{}', '<html>busy</html>', '{"id":2}']), dice.between(0, 1900));
    }
    if (dice.chance(broken)) {
      trace.count('head.broken');
      line.break();
    }
  }
}

const header = (number: number, hash: string) => ({
  jsonrpc: '2.0',
  method: 'eth_subscription',
  params: { subscription: SUBSCRIPTION, result: { number: `0x${number.toString(16)}`, hash } },
});
