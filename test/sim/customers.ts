import type { Bytes32 } from '../../gateway/ground/domain/units.js';
import type { RefusalCode } from '../../gateway/ground/domain/refusal.js';
import type { Credentials } from '../../gateway/search/caller.js';
import type { Dice } from './dice.js';
import type { Heard, Machine } from './machine.js';
import type { SignedPayment } from './payers.js';
import type { VirtualTime } from './time.js';
import type { Trace } from './trace.js';

/** Results that somebody got for a payment. */
export interface Delivery {
  readonly payment: SignedPayment;
  readonly body: string;
  readonly transaction: Bytes32;
  readonly atMs: number;
}

/** Somebody was told to give a payment up. */
interface GivenUp {
  readonly payment: SignedPayment;
  readonly code: RefusalCode;
}

interface Surroundings {
  readonly time: VirtualTime;
  readonly dice: Dice;
  readonly trace: Trace;
  readonly machines: readonly Machine[];
  /** Told of each delivery when it happens. */
  onDelivery(delivery: Delivery): void;
  violation(what: string): void;
}

const ATTEMPTS_MAX = 400;
/** No reply takes longer: the chain's wait, the search, and every deadline of a verification. */
const REPLY_MS_MAX = 60_000;

/** Those who search: with payments, as often as it takes, and with an account's key. */
export class Customers {
  readonly deliveries: Delivery[] = [];
  readonly givenUp: GivenUp[] = [];
  /** Keyed searches that were answered with results: when, and by which process. */
  readonly keyed: { readonly atMs: number; readonly process: string }[] = [];
  /** Request ids of every keyed search. */
  readonly keyedAsked: string[] = [];
  #busy = 0;

  constructor(private readonly world: Surroundings) {}

  /** How many are not done. */
  get busy(): number {
    return this.#busy;
  }

  /** Somebody presents a payment for a query, from `atMs` on, until there is an answer for good. */
  pay(payment: SignedPayment, query: string, atMs: number): void {
    void this.#after(atMs, async () => {
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
        const heard = await this.present(payment, query);
        if (heard === 'lost') await this.world.time.sleep(this.world.dice.between(500, 3000));
        else if (heard.kind === 'results') return;
        else {
          const { code, next, retryAfterSeconds = 2 } = heard.refusal;
          if (next === 'new-payment' || next === 'never') {
            this.givenUp.push({ payment, code });
            return;
          }
          await this.world.time.sleep(retryAfterSeconds * 1000);
        }
      }
      this.world.violation(`${payment.name} got no answer in ${ATTEMPTS_MAX} attempts`);
    });
  }

  /** Somebody searches with an API key, once. */
  search(key: string, query: string, atMs: number): void {
    void this.#after(atMs, async () => {
      const requestId = this.world.dice.random().uuid();
      this.keyedAsked.push(requestId);
      const credentials = { kind: 'bearer', authorization: `Bearer ${key}` } as const;
      await this.#ask(credentials, query, requestId, 'keyed');
    });
  }

  /** Presents a payment once, and takes down what comes of it. */
  async present(payment: SignedPayment, query: string): Promise<Heard> {
    const requestId = this.world.dice.random().uuid();
    const credentials = { kind: 'payment', version: 2, value: payment.header } as const;
    const heard = await this.#ask(credentials, query, requestId, payment.name);
    if (heard === 'lost' || heard.kind === 'refused') return heard;
    const { body, receipt } = heard;
    if (!receipt || !('transaction' in receipt)) {
      this.world.violation(`${payment.name} was delivered without a receipt`);
      return heard;
    }
    const transaction = receipt.transaction;
    const atMs = this.world.time.nowMs;
    const delivery = { payment, body: Buffer.from(body).toString('utf8'), transaction, atMs };
    this.deliveries.push(delivery);
    this.world.onDelivery(delivery);
    return heard;
  }

  async #after(atMs: number, work: () => Promise<void>): Promise<void> {
    this.#busy += 1;
    await this.world.time.sleep(atMs);
    await work();
    this.#busy -= 1;
  }

  async #ask(
    credentials: Credentials,
    query: string,
    requestId: string,
    who: string,
  ): Promise<Heard> {
    const { time, dice, trace, machines } = this.world;
    const leave = new AbortController();
    if (dice.chance(this.leaveChance)) {
      time.after(dice.between(1, 4000), () => leave.abort());
      trace.count('client.gone', who);
    }
    const startedMs = time.nowMs;
    trace.event('ask', who, query);
    const machine = dice.pick(machines);
    const heard = await machine.ask({
      requestId,
      face: 'gateway',
      credentials,
      body: { query },
      address: '192.0.2.1',
      signal: leave.signal,
    });
    const elapsedMs = time.nowMs - startedMs;
    if (elapsedMs > REPLY_MS_MAX)
      this.world.violation(`I9: ${who} waited ${Math.round(elapsedMs)} ms for a reply`);
    const outcome =
      heard === 'lost' ? 'lost' : heard.kind === 'results' ? 'results' : heard.refusal.code;
    trace.count(`reply.${outcome}`, who);
    if (credentials.kind === 'bearer' && outcome === 'results')
      this.keyed.push({ atMs: time.nowMs, process: machine.process?.name ?? 'nobody' });
    // Whoever has gone hears nothing.
    return leave.signal.aborted ? 'lost' : heard;
  }

  /** Probability that somebody hangs up before the reply. */
  leaveChance = 0;
}
