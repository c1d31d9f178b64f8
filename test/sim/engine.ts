import type { RunSearch } from '../../gateway/search/answer.js';
import { refuse } from '../../gateway/ground/domain/refusal.js';
import type { Dice } from './dice.js';
import type { SimProcess } from './process.js';
import type { VirtualTime } from './time.js';
import type { Trace } from './trace.js';

/** Probabilities from 0 to 1. */
export interface EngineWeather {
  fail: number;
  timeOut: number;
}

/** One search that was answered. */
export interface SearchRun {
  readonly requestId: string;
  readonly query: string;
  readonly body: string;
}

const TIMEOUT_MS = 5000;

/** A search engine that never gives the same answer twice, so that two searches can be told apart. */
export class Engine {
  readonly weather: EngineWeather = { fail: 0, timeOut: 0 };
  readonly runs: SearchRun[] = [];

  constructor(
    private readonly time: VirtualTime,
    private readonly dice: Dice,
    private readonly trace: Trace,
  ) {}

  /** The engine as one process reaches it. */
  runFor(process: SimProcess): RunSearch {
    return ({ query }, { requestId, signal }) =>
      new Promise((resolve) => {
        const answer = (value: Awaited<ReturnType<RunSearch>>) => {
          if (process.isAlive) resolve(value);
        };
        if (this.dice.chance(this.weather.timeOut)) {
          this.trace.count('search.timed-out', requestId);
          this.time.after(TIMEOUT_MS, () => answer(refuse('upstream_timeout', 'too slow')));
          return;
        }
        this.time.after(this.dice.between(2, 300), () => {
          if (signal.aborted) {
            answer(refuse('upstream_error', 'nobody waits'));
            return;
          }
          if (this.dice.chance(this.weather.fail)) {
            this.trace.count('search.failed', requestId);
            answer(refuse('upstream_error', 'broken'));
            return;
          }
          const body = JSON.stringify({ requestId, query, run: this.runs.length });
          this.runs.push({ requestId, query, body });
          this.trace.event('searched', requestId, this.runs.length);
          answer({ kind: 'answer', body: Buffer.from(body), resultCount: 1 });
        });
      });
  }
}
