import type { Dice } from '../dice.js';
import type { Heard, Machine } from '../machine.js';
import { EPOCH_MS } from '../process.js';
import type { VirtualTime } from '../time.js';
import type { Trace } from '../trace.js';
import { PRICE, type ChannelWallet } from './wallet.js';

/** Results that a voucher has bought. */
export interface Purchase {
  readonly wallet: ChannelWallet;
  readonly cumulative: bigint;
  readonly query: string;
  readonly body: string;
}

export interface PayerWorld {
  readonly time: VirtualTime;
  readonly dice: Dice;
  readonly trace: Trace;
  readonly machines: readonly Machine[];
  /** Seconds for which a deposit is valid. */
  readonly validSeconds: number;
  onPurchase(purchase: Purchase): void;
  violation(what: string): void;
}

/** What one presentation came to, as far as a payer goes by it. */
type Outcome = 'bought' | 'corrected' | 'refused' | 'unknown';

const ATTEMPTS_MAX = 60;
const REPLY_MS_MAX = 90_000;

/**
 * Pays by a channel as a careful client does: it keeps what it has signed, presents the same voucher
 * until there is an answer for good, and believes a correction that shows its own signature.
 */
export class ChannelPayer {
  charged = 0n;
  #deposits = 0;
  #queries = 0;
  /** What it has bought last, for presenting it again. */
  #last: Purchase | undefined;

  constructor(
    readonly wallet: ChannelWallet,
    private readonly world: PayerWorld,
  ) {}

  get #name(): string {
    return this.wallet.name;
  }

  #query(): string {
    this.#queries += 1;
    return `${this.#name} ${this.#queries}`;
  }

  /** Opens the channel, or adds to it; true when the deposit's search was answered. */
  async deposit(amount: bigint): Promise<boolean> {
    this.#deposits += 1;
    const { time, validSeconds } = this.world;
    const validBefore = Math.floor((EPOCH_MS + time.nowMs) / 1000) + validSeconds;
    const cumulative = this.charged + PRICE;
    const header = this.wallet.deposit(cumulative, amount, this.#deposits, validBefore);
    return (await this.#insist(header, cumulative, this.#query())) === 'bought';
  }

  /** One search after the other, each with the next voucher. */
  async search(): Promise<Outcome> {
    const cumulative = this.charged + PRICE;
    return this.#insist(this.wallet.voucher(cumulative), cumulative, this.#query());
  }

  /** Searches in flight together, each with a voucher of its own, in any order. */
  async crowd(count: number): Promise<void> {
    this.world.trace.count('channel.crowd', this.#name);
    const first = this.charged;
    const vouchers = Array.from({ length: count }, (_, index) => first + PRICE * BigInt(index + 1));
    await Promise.all(
      vouchers.map(async (cumulative) => {
        await this.world.time.sleep(this.world.dice.between(0, 200));
        await this.#insist(this.wallet.voucher(cumulative), cumulative, this.#query());
      }),
    );
  }

  /** One voucher for several searches at the same moment: one of them may be answered. */
  async race(count: number): Promise<void> {
    this.world.trace.count('channel.race', this.#name);
    const cumulative = this.charged + PRICE;
    const header = this.wallet.voucher(cumulative);
    const queries = Array.from({ length: count }, () => this.#query());
    await Promise.all(queries.map((query) => this.#insist(header, cumulative, query)));
  }

  /** What was bought is asked for again, or another search with the voucher that is spent. */
  async replay(): Promise<void> {
    const last = this.#last;
    if (!last) return;
    const isSame = this.world.dice.chance(0.5);
    this.world.trace.count(isSame ? 'channel.replay' : 'channel.reuse', this.#name);
    const header = this.wallet.voucher(last.cumulative);
    await this.present(header, last.cumulative, isSame ? last.query : this.#query());
  }

  /** The payer's store is gone: it begins as if nothing had been charged. */
  forget(): void {
    this.world.trace.count('channel.forgot', this.#name);
    this.charged = 0n;
  }

  /** Asks for everything that is left. */
  async refund(): Promise<void> {
    const { dice, machines, trace } = this.world;
    const header = this.wallet.refund(this.charged);
    const heard = await dice.pick(machines).refund(header, dice.random().uuid());
    const what = heard === 'lost' ? 'lost' : heard.kind;
    trace.count(`channel.refund-${what}`, this.#name);
  }

  /** The same presentation until there is an answer for good. */
  async #insist(header: string, cumulative: bigint, query: string): Promise<Outcome> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const heard = await this.present(header, cumulative, query);
      if (heard === 'lost') {
        await this.world.time.sleep(this.world.dice.between(500, 3000));
        continue;
      }
      if (heard.kind === 'results') return 'bought';
      const { next, retryAfterSeconds = 2 } = heard.refusal;
      if (heard.offer?.correction) return 'corrected';
      if (next === 'new-payment' || next === 'never') return 'refused';
      await this.world.time.sleep(retryAfterSeconds * 1000);
    }
    return 'unknown';
  }

  /** Presents a header once, and learns from the reply. */
  async present(header: string, cumulative: bigint, query: string): Promise<Heard> {
    const { dice, machines, time, trace } = this.world;
    const startedMs = time.nowMs;
    trace.event('ask', this.#name, cumulative, query);
    const heard = await dice.pick(machines).ask({
      requestId: dice.random().uuid(),
      face: 'gateway',
      credentials: { kind: 'payment', version: 2, value: header },
      body: { query },
      address: '192.0.2.2',
      signal: new AbortController().signal,
    });
    if (time.nowMs - startedMs > REPLY_MS_MAX)
      this.world.violation(`I9: ${this.#name} waited ${time.nowMs - startedMs} ms for a reply`);
    if (heard === 'lost') {
      trace.count('channel.reply.lost', this.#name);
      return heard;
    }
    if (heard.receipt && 'channel' in heard.receipt) this.#learn(heard.receipt.channel.charged);
    if (heard.kind === 'refused') {
      const { refusal, offer } = heard;
      trace.count(`channel.reply.${refusal.reason ?? refusal.code}`, this.#name);
      const { state, voucher } = offer?.correction ?? {};
      const isOurs = voucher?.signature === this.wallet.signature(voucher?.signed ?? 0n);
      if (state && (isOurs || state.charged === 0n)) this.charged = state.charged;
      return heard;
    }
    trace.count('channel.reply.results', this.#name);
    const body = Buffer.from(heard.body).toString('utf8');
    this.#last = { wallet: this.wallet, cumulative, query, body };
    this.world.onPurchase(this.#last);
    return heard;
  }

  #learn(charged: bigint): void {
    if (charged > this.charged) this.charged = charged;
  }
}
