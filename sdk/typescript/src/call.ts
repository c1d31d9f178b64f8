import {
  AbortedError,
  ConnectionError,
  PaymentError,
  PaymentLostError,
  type PaymentView,
  Search402Error,
  SigningError,
} from './errors.js';
import { ChannelSearch } from './channel/channel-search.js';
import type { ChannelTerms } from './channel/terms.js';
import type { Settings } from './options.js';
import { readChallenge, type Challenge } from './payment/challenge.js';
import type { Learned } from './payment/inquiry.js';
import { viewOf, type OpenPayment, type PaidRequest, type Payer } from './payment/payer.js';
import { judge, readReceipt } from './payment/verdict.js';
import { receiptIn } from './receipt.js';
import { codeOf, errorOf } from './reply.js';
import { isRetryable, retryAfterSeconds, retryDelayMs } from './retry.js';
import type { Runtime } from './runtime.js';
import { sendOnce, type Answer } from './transport.js';
import type { SearchResponse } from './types.js';

/** A refused payment is replaced at most once in a call: more would hand out signatures. */
const SIGNATURES_PER_CALL_MAX = 2;

const NO_CHANNEL = 'the gateway offers no channel that the caps and lists allow; nothing was paid';

/** A search response with what stood around it. */
export interface SearchOutcome<Data = SearchResponse> {
  readonly data: Data;
  readonly status: number;
  readonly headers: Headers;
  /** Requests sent, the unpaid one that fetched the quote included. */
  readonly tries: number;
  /** What was paid, when a wallet paid. */
  readonly payment?: PaymentView;
  /** The service's signed statement of what was asked, answered and paid: see `verifyReceipt`. */
  readonly receipt?: string;
  /** The HTTP response, its body not yet read; a new one each time. Not shown by JSON or a log. */
  readonly response: Response;
}

/** The answer to a search with what stood around it. */
function outcomeOf<Data>(
  { status, headers, text }: Answer,
  more: Pick<SearchOutcome<Data>, 'data' | 'tries' | 'payment'>,
): SearchOutcome<Data> {
  const receipt = receiptIn(headers);
  const outcome = { ...more, status, headers, ...(receipt !== undefined && { receipt }) };
  const response = { get: () => new Response(text, { status, headers }), enumerable: false };
  return Object.defineProperty(outcome, 'response', response) as unknown as SearchOutcome<Data>;
}

/** The limits of one call. */
export interface CallLimits {
  readonly maxRetries: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether an open payment may only be sent again, with nothing signed in its place. */
  readonly mayOnlyResume: boolean;
  /** Opens a channel with this search, or tops one up, with at least this deposit. */
  readonly deposit?: { readonly units: bigint | undefined };
}

/**
 * One search from first try to last. With a wallet, the payment's life within it:
 * an open payment for this request is sent before anything else; a challenge is signed only while
 * there is none; every later try carries the same one, until an answer makes its outcome known.
 */
export class Call<Data = SearchResponse> {
  #retries = 0;
  #tries = 0;
  #signatures = 0;
  #payment: OpenPayment | undefined;
  /** Whether the present payment may have been accepted by an earlier try. */
  #uncertain = false;
  /** Whether a payment of an earlier call was dropped for a fresh challenge. */
  #hasAskedAnew = false;
  /** Whether the gateway was asked what became of the payment: the wallet signs that once. */
  #hasInquired = false;
  /** Whether a channel was tried, and cannot pay for this search. */
  #isChannelOut = false;
  /** The same for all tries of a keyed call: lost answers cost no further credit. */
  readonly #idempotencyKey: string;

  constructor(
    private readonly settings: Settings,
    private readonly payer: Payer | undefined,
    private readonly runtime: Runtime,
    private readonly request: PaidRequest,
    private readonly limits: CallLimits,
    /** Reads a 200. @throws {ProtocolError} when it does not hold what was asked for */
    private readonly read: (answer: Answer) => Data,
  ) {
    const bytes = [...runtime.bytes(16)];
    this.#idempotencyKey = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  async run(): Promise<SearchOutcome<Data>> {
    try {
      return await this.#run();
    } catch (error) {
      if (error instanceof Search402Error && this.#payment && !error.payment) {
        error.payment = viewOf(this.#payment.record);
      }
      throw error;
    }
  }

  async #run(): Promise<SearchOutcome<Data>> {
    this.#payment = await this.payer?.openFor(this.request);
    this.#uncertain = this.#payment !== undefined;
    const known = await this.#rememberedTerms();
    const paid = known && (await this.#payByChannel(known));
    if (paid) return paid;
    for (;;) {
      const outcome = await this.#step();
      if (outcome) return outcome;
    }
  }

  /** One request and what follows from its answer; undefined means: go on. */
  async #step(): Promise<SearchOutcome<Data> | undefined> {
    let answer: Answer;
    let data: Data | undefined;
    try {
      answer = await this.#send();
      if (answer.status === 200) data = this.read(answer);
    } catch (error) {
      // The payment may have arrived: only the same one may be sent again.
      this.#uncertain = true;
      if (!(error instanceof ConnectionError)) throw error;
      await this.#waitOrThrow(error, undefined);
      return undefined;
    }
    if (data) return await this.#finish(answer, data);

    const challenge = answer.status === 402 ? readChallenge(answer.headers) : undefined;
    if (this.payer && this.#payment) {
      return await this.#judge(this.payer, this.#payment, answer, challenge);
    }
    if (this.payer && challenge && !this.limits.mayOnlyResume) {
      const terms = await this.#channelTerms(this.payer, challenge);
      const paid = terms && (await this.#payByChannel(terms, answer.headers));
      if (paid) return paid;
      if (this.limits.deposit) throw new PaymentError(NO_CHANNEL);
      await this.#sign(this.payer, challenge, answer);
      return undefined;
    }
    await this.#retryOrThrow(answer, challenge);
    return undefined;
  }

  /** The terms of a channel that is open: it needs no challenge. */
  async #rememberedTerms(): Promise<ChannelTerms | undefined> {
    const { mayOnlyResume, deposit } = this.limits;
    if (this.#payment || !this.payer || deposit) return undefined;
    const { channels } = this.payer;
    if (mayOnlyResume) return await channels.pending(this.request);
    return await channels.remembered(this.request.url);
  }

  /** A channel is opened on request, and for whoever searches more than once. */
  async #channelTerms(payer: Payer, challenge: Challenge): Promise<ChannelTerms | undefined> {
    if (this.#isChannelOut || (!payer.hasPaid && !this.limits.deposit)) return undefined;
    return await payer.channels.choose(challenge);
  }

  async #payByChannel(
    terms: ChannelTerms,
    headers?: Headers,
  ): Promise<SearchOutcome<Data> | undefined> {
    if (!this.payer) return undefined;
    const { settings, runtime, limits } = this;
    this.#isChannelOut = true;
    const search = new ChannelSearch(this.payer.channels, this.request, {
      send: (header) => this.#send(header),
      waitOrThrow: (error, answer) => {
        const seconds = answer && retryAfterSeconds(answer.headers, runtime.nowMs());
        return this.#waitOrThrow(error, seconds);
      },
      errorOf: (answer, challenge) => errorOf(answer, challenge, runtime.nowMs()),
      pause: (ms) => runtime.sleep(ms, limits.signal),
      ...{ log: settings.log, signal: limits.signal, depositUnits: limits.deposit?.units },
      ...(limits.mayOnlyResume && { vouchersMax: 1 }),
    });
    const paid = await search.run(terms, headers);
    if (!paid) return undefined;
    const { answer, payment } = paid;
    const data = this.read(answer);
    this.payer.hasPaid = true;
    return outcomeOf(answer, { data, tries: this.#tries, payment });
  }

  async #send(paymentHeader = this.#payment?.header): Promise<Answer> {
    const { settings, limits } = this;
    this.#tries += 1;
    const answer = await sendOnce(settings.fetch, {
      ...this.request,
      timeoutMs: limits.timeoutMs,
      signal: limits.signal,
      headers: {
        ...(settings.apiKey === undefined ? {} : { 'idempotency-key': this.#idempotencyKey }),
        ...limits.headers,
        accept: 'application/json',
        'content-type': 'application/json',
        ...(settings.apiKey === undefined ? {} : { authorization: `Bearer ${settings.apiKey}` }),
        ...(paymentHeader === undefined ? {} : { 'payment-signature': paymentHeader }),
      },
    });
    settings.log.debug('answer', {
      status: answer.status,
      tries: this.#tries,
      requestId: answer.headers.get('x-request-id'),
      payment: this.#payment?.record.id,
    });
    return answer;
  }

  async #sign(payer: Payer, challenge: Challenge, answer: Answer): Promise<void> {
    if (this.limits.signal?.aborted === true) throw new AbortedError('the call was aborted');
    const { signal } = this.limits;
    const { headers } = answer;
    this.#payment = await payer.sign(this.request, challenge, { headers, signal });
    this.#signatures += 1;
    // A call beside this one for the same search may have sent it already.
    this.#uncertain = this.#payment.shared;
  }

  /** Learns from an answer what became of the payment; throws unless there is a next try. */
  async #judge(
    payer: Payer,
    payment: OpenPayment,
    answer: Answer,
    challenge: Challenge | undefined,
  ): Promise<SearchOutcome<Data> | undefined> {
    const verdict = judge(answer, codeOf(answer), challenge?.error, this.#uncertain);
    if (verdict === 'unknown') {
      if (answer.status !== 429) this.#uncertain = true;
      if (isRetryable(answer.status)) {
        await this.#retryOrThrow(answer, challenge);
        return undefined;
      }
    }
    const error = errorOf(answer, challenge, this.runtime.nowMs());
    const reason = readReceipt(answer.headers)?.reason ?? challenge?.error ?? error.code;
    const more = reason === undefined ? {} : { reason };
    this.settings.log.warn('the payment was not taken', { verdict, reason });
    if (verdict === 'refused' || verdict === 'refused-finally') {
      await this.#replace(payer, payment, { answer, challenge, error, more, verdict });
      return undefined;
    }
    // The books know more than this answer says.
    const learned = await this.#inquire(payer, payment, answer);
    if (learned.kind === 'answered') {
      return await this.#finish(learned.answer, this.read(learned.answer));
    }
    if (learned.kind === 'uncharged') {
      const closed = { answer, challenge, error, more, verdict: 'refused' } as const;
      await this.#replace(payer, payment, closed);
      return undefined;
    }
    const isCharged = learned.kind === 'charged';
    if (!isCharged && (verdict === 'unknown' || learned.kind === 'undecided')) throw error;
    const isUsed = isCharged || verdict === 'used';
    const what = isUsed ? 'was used on chain' : 'may have been used on chain';
    const message = `the payment ${what}, and its reply can no longer be fetched`;
    const lost = new PaymentLostError(message, { cause: error });
    const { transaction } = { transaction: undefined, ...learned };
    const facts = { ...more, ...(transaction !== undefined && { transaction }) };
    lost.payment = await payer.close(payment.record, isUsed ? 'paid' : 'refused', facts);
    throw lost;
  }

  /** Closes a payment that will not be used; signs another one where that can help. */
  async #replace(
    payer: Payer,
    payment: OpenPayment,
    refusal: {
      readonly answer: Answer;
      readonly challenge: Challenge | undefined;
      readonly error: Search402Error;
      readonly more: { readonly reason?: string };
      readonly verdict: 'refused' | 'refused-finally';
    },
  ): Promise<void> {
    const { answer, challenge, error } = refusal;
    const view = await payer.close(payment.record, 'refused', refusal.more);
    const maySignAnew = refusal.verdict === 'refused' && !this.limits.mayOnlyResume;
    if (maySignAnew && challenge && this.#signatures < SIGNATURES_PER_CALL_MAX) {
      this.#payment = undefined;
      await this.#sign(payer, challenge, answer);
      return;
    }
    if (maySignAnew && this.#signatures === 0 && !this.#hasAskedAnew) {
      // A payment from an earlier call, and no fresh challenge: ask for one.
      this.#payment = undefined;
      this.#uncertain = false;
      this.#hasAskedAnew = true;
      return;
    }
    error.payment = view;
    throw error;
  }

  async #inquire(payer: Payer, payment: OpenPayment, { headers }: Answer): Promise<Learned> {
    if (this.#hasInquired) return { kind: 'unknown' };
    this.#hasInquired = true;
    const { timeoutMs, signal } = this.limits;
    const options = { fetch: this.settings.fetch, timeoutMs, signal, headers };
    const learned = await payer.inquire(payment, options).catch((error: unknown): Learned => {
      if (error instanceof SigningError) return { kind: 'unknown' };
      throw error;
    });
    this.settings.log.info('asked for the payment', { learned: learned.kind });
    return learned;
  }

  async #finish(answer: Answer, data: Data): Promise<SearchOutcome<Data>> {
    const tries = this.#tries;
    if (!this.#payment || !this.payer) return outcomeOf(answer, { data, tries });
    const transaction = readReceipt(answer.headers)?.transaction ?? '';
    const more = transaction === '' ? {} : { transaction };
    const payment = await this.payer.close(this.#payment.record, 'paid', more);
    return outcomeOf(answer, { data, tries, payment });
  }

  async #retryOrThrow(answer: Answer, challenge: Challenge | undefined): Promise<void> {
    const nowMs = this.runtime.nowMs();
    const error = errorOf(answer, challenge, nowMs);
    if (!isRetryable(answer.status)) throw error;
    await this.#waitOrThrow(error, retryAfterSeconds(answer.headers, nowMs));
  }

  async #waitOrThrow(error: Search402Error, afterSeconds: number | undefined): Promise<void> {
    const delayMs = retryDelayMs(this.#retries, afterSeconds, this.runtime);
    if (delayMs === undefined || this.#retries >= this.limits.maxRetries) throw error;
    this.#retries += 1;
    this.settings.log.info('retry', { retry: this.#retries, delayMs, because: error });
    await this.runtime.sleep(delayMs, this.limits.signal);
    if (this.limits.signal?.aborted === true) {
      throw new AbortedError('the call was aborted', { cause: error });
    }
  }
}
