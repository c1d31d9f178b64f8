import {
  CapExceededError,
  ConnectionError,
  type PaymentView,
  type Search402Error,
} from '../errors.js';
import type { Logger } from '../log.js';
import { readChallenge, type Challenge } from '../payment/challenge.js';
import type { PaidRequest } from '../payment/payer.js';
import { readReceipt } from '../payment/verdict.js';
import { codeOf, readSearchResponse } from '../reply.js';
import { isRetryable } from '../retry.js';
import type { Answer } from '../transport.js';
import type { SearchResponse } from '../types.js';
import { readChannelReceipt } from './answer.js';
import type { ChannelPayer } from './channel-payer.js';
import type { Voucher } from './voucher.js';
import type { ChannelTerms } from './terms.js';
import { judgeVoucher, type VoucherVerdict } from './verdict.js';

/** What a search by a channel needs of the call that it belongs to. */
export interface ChannelPorts {
  /** Sends the request with this PAYMENT-SIGNATURE. */
  send(header: string): Promise<Answer>;
  /** Waits until the next try, or throws the error when there is none. */
  waitOrThrow(error: Search402Error, answer: Answer | undefined): Promise<void>;
  errorOf(answer: Answer, challenge: Challenge | undefined): Search402Error;
  /** A pause that is no retry. */
  pause(ms: number): Promise<void>;
  readonly log: Logger;
  readonly signal: AbortSignal | undefined;
  readonly depositUnits: bigint | undefined;
  /** Fewer vouchers than usual. */
  readonly vouchersMax?: number | undefined;
}

/** A search that a voucher has paid for. */
export interface Paid {
  readonly answer: Answer;
  readonly data: SearchResponse;
  readonly payment: PaymentView;
}

type Step =
  | { readonly kind: 'paid'; readonly paid: Paid }
  /** Another voucher, by these terms, can do it. */
  | { readonly kind: 'again'; readonly answer: Answer; readonly terms?: ChannelTerms }
  | { readonly kind: 'elsewhere' };

/** A correction is one voucher more; with this many there is no end in sight. */
const VOUCHERS_PER_CALL_MAX = 6;
const BUSY_PAUSE_MS = 50;

/** One search that is paid for by a channel, from its first voucher to its last. */
export class ChannelSearch {
  constructor(
    private readonly payer: ChannelPayer,
    private readonly request: PaidRequest,
    private readonly ports: ChannelPorts,
  ) {}

  /** The answered search; undefined when it has to be paid for another way. */
  async run(terms: ChannelTerms, headers = new Headers()): Promise<Paid | undefined> {
    const { signal, depositUnits, vouchersMax = VOUCHERS_PER_CALL_MAX } = this.ports;
    let now = terms;
    let last = headers;
    for (let vouchers = 0; vouchers < vouchersMax; vouchers += 1) {
      const options = { headers: last, signal, depositUnits };
      const voucher = await this.payer.take(this.request, now, options).catch(unlessCapped);
      if (!voucher) return undefined;
      const step = await this.#present(voucher, vouchers);
      if (step.kind === 'paid') return step.paid;
      if (step.kind === 'elsewhere') return undefined;
      now = step.terms ?? now;
      last = step.answer.headers;
    }
    return undefined;
  }

  /** Sends one voucher until its outcome is known, or the call's retries are used up. */
  async #present(voucher: Voucher, round: number): Promise<Step> {
    let isUncertain = voucher.shared;
    for (;;) {
      let answer: Answer;
      try {
        answer = await this.ports.send(voucher.header);
        if (answer.status === 200) return await this.#finish(voucher, answer);
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        // It may have arrived: the voucher stays out, and the next call for this search sends it.
        isUncertain = true;
        await this.ports.waitOrThrow(error, undefined);
        continue;
      }
      const challenge = answer.status === 402 ? readChallenge(answer.headers) : undefined;
      const because = readReceipt(answer.headers)?.reason ?? challenge?.error;
      const verdict = judgeVoucher(answer, codeOf(answer), because);
      this.ports.log.info('the voucher was not taken', { verdict, because });
      if (verdict !== 'unknown' && verdict !== 'later' && verdict !== 'failed') {
        return await this.#settle(voucher, verdict, answer, challenge, round);
      }
      if (verdict === 'unknown') isUncertain = true;
      const error = this.ports.errorOf(answer, challenge);
      try {
        if (!isRetryable(answer.status)) throw error;
        await this.ports.waitOrThrow(error, answer);
      } catch (thrown) {
        if (!isUncertain) await this.payer.failed(voucher);
        throw thrown;
      }
    }
  }

  /** Draws the conclusion from a refusal; nothing was charged for this voucher and this request. */
  async #settle(
    voucher: Voucher,
    verdict: Exclude<VoucherVerdict, 'unknown' | 'later' | 'failed'>,
    answer: Answer,
    challenge: Challenge | undefined,
    round: number,
  ): Promise<Step> {
    const { payer } = this;
    switch (verdict) {
      case 'correction':
      case 'busy': {
        if (verdict === 'busy') await this.ports.pause(BUSY_PAUSE_MS * 2 ** round);
        if (await payer.correct(voucher, challenge)) return { kind: 'again', answer };
        this.ports.log.warn('the gateway cannot prove what it says of the channel', {});
        break;
      }
      case 'empty':
        if (voucher.entry.deposit) break;
        await payer.isEmpty(voucher);
        return { kind: 'again', answer };
      case 'renew':
        return await this.#renew(voucher, answer, challenge);
      case 'unavailable':
        await payer.failed(voucher);
        return { kind: 'elsewhere' };
      case 'stopped':
        if (isOutdated(voucher.channel.terms, challenge)) {
          return await this.#renew(voucher, answer, challenge);
        }
    }
    await payer.stop(voucher);
    return { kind: 'elsewhere' };
  }

  /** Goes on by the terms of a fresh challenge. */
  async #renew(voucher: Voucher, answer: Answer, challenge: Challenge | undefined): Promise<Step> {
    await this.payer.renew(voucher);
    const terms = challenge && (await this.payer.choose(challenge));
    return terms ? { kind: 'again', answer, terms } : { kind: 'elsewhere' };
  }

  async #finish(voucher: Voucher, answer: Answer): Promise<Step> {
    const data = readSearchResponse(answer);
    const payment = await this.payer.charged(voucher, readChannelReceipt(answer));
    return { kind: 'paid', paid: { answer, data, payment } };
  }
}

/** Whether the gateway offers other terms by now. */
function isOutdated(terms: ChannelTerms, challenge: Challenge | undefined): boolean {
  const offered = challenge?.channels ?? [];
  return (
    offered.length > 0 &&
    !offered.some(
      (one) =>
        one.amountUnits === terms.amountUnits &&
        one.payTo === terms.payTo &&
        one.receiverAuthorizer === terms.receiverAuthorizer &&
        one.withdrawDelay === terms.withdrawDelay,
    )
  );
}

/** Where a deposit would exceed a cap, a payment of its own may not. */
function unlessCapped(error: unknown): undefined {
  if (error instanceof CapExceededError && error.cap !== 'maxPerRequest') return undefined;
  throw error;
}
