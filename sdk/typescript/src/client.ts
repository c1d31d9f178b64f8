import { Call, type CallLimits, type SearchOutcome } from './call.js';
import { Channels } from './channel/channels.js';
import { ConfigurationError, PaymentRequiredError, type PaymentView } from './errors.js';
import { runMany, type SearchManyParams, type SearchManyResponse } from './many.js';
import { jsonable } from './jsonable.js';
import {
  changeSettings,
  checkRetries,
  checkTimeout,
  lowerCased,
  timeoutOf,
  type ChangedOptions,
  type ClientOptions,
  type Settings,
} from './options.js';
import { optionsFor, partsOf, type Parts } from './parts.js';
import { viewOf, type Payer } from './payment/payer.js';
import type { Quote } from './payment/record.js';
import { packOf, packsUrlOf, readPack, type Pack, type PackParams } from './packs.js';
import { errorOf, readSearchResponse } from './reply.js';
import type { Runtime } from './runtime.js';
import { SearchPromise } from './search-promise.js';
import type { RequestOptions, SearchParams } from './types.js';

/** What a wallet client has signed. */
export class Payments {
  /** @internal */
  constructor(
    private readonly payer: Payer,
    private readonly runtime: Runtime,
    private readonly send: (body: string) => Promise<SearchOutcome>,
    private readonly url: string,
  ) {}

  /** Every payment in the store, oldest first, without the signed headers. */
  async list(): Promise<PaymentView[]> {
    const records = await this.payer.store.list();
    return records.filter(({ channel }) => channel === undefined).map(viewOf);
  }

  /** Atomic USDC that counts towards the caps: of the last 24 hours, and in all. */
  async spent(): Promise<{ dayUnits: bigint; totalUnits: bigint }> {
    return await this.payer.store.read((view) => {
      const { dayUnits, totalUnits } = view.spent(this.runtime.nowMs());
      return jsonable({ dayUnits, totalUnits });
    });
  }

  /** What the vouchers pay for whose outcome is not known. */
  private async bodiesInFlight(): Promise<readonly string[]> {
    const channels = await this.payer.channels.channels(this.url);
    return channels.flatMap(({ book }) => book.inFlight.map(({ body }) => body));
  }

  /**
   * Sends every payment whose outcome is not known once more, and returns the answers of those
   * that went through. Nothing new is signed for one that did not.
   */
  async resume(): Promise<{ resumed: SearchOutcome[]; failures: unknown[] }> {
    const resumed: SearchOutcome[] = [];
    const failures: unknown[] = [];
    for (const { status, url, body, channel } of await this.payer.store.list()) {
      if (status !== 'open' || url !== this.url || body === undefined) continue;
      if (channel !== undefined) continue;
      try {
        resumed.push(await this.send(body));
      } catch (error) {
        failures.push(error);
      }
    }
    for (const body of await this.bodiesInFlight()) {
      try {
        resumed.push(await this.send(body));
      } catch (error) {
        failures.push(error);
      }
    }
    return { resumed, failures };
  }
}

/**
 * A client of one search402 service, with an API key or with a wallet.
 *
 * @example
 * const client = new Search402({ apiKey: process.env.SEARCH402_API_KEY });
 * const { result } = await client.search({ query: 'kestrel nesting cliffs' });
 */
export class Search402 {
  readonly #parts: Parts;
  readonly #payments: Payments | undefined;
  readonly #channels: Channels | undefined;

  /** @throws {ConfigurationError} when an option or an environment variable cannot be right */
  constructor(options: ClientOptions = {}) {
    this.#parts = partsOf(options);
    const { payer, runtime, settings } = this.#parts;
    if (!payer) return;
    const { url, fetch, timeoutMs } = settings;
    const resume = (body: string) => this.#call(body, {}, { mayOnlyResume: true });
    this.#payments = new Payments(payer, runtime, resume, url);
    this.#channels = new Channels({
      payer: payer.channels,
      url,
      search: (units) => this.#call(bodyOf(PRICED), {}, { deposit: { units } }),
      request: { fetch, timeoutMs },
      errorOf: (answer) => errorOf(answer, undefined, runtime.nowMs()),
    });
  }

  /**
   * A client with other settings; what is not given stays as it is, and headers are added to those
   * of this one. The two share the key or the wallet, the store and the caps.
   * @throws {ConfigurationError} when a setting cannot be right
   */
  withOptions(changed: ChangedOptions): Search402 {
    const { settings, payer } = this.#parts;
    if (payer && changed.apiKey !== undefined) {
      throw new ConfigurationError('a client with a wallet takes no apiKey');
    }
    const parts = { ...this.#parts, settings: changeSettings(settings, changed) };
    return new Search402(optionsFor(parts));
  }

  /**
   * The channels of this wallet at this service.
   * @throws {ConfigurationError} without a wallet
   */
  get channels(): Channels {
    if (!this.#channels) throw new ConfigurationError('only a client with a wallet has channels');
    return this.#channels;
  }

  /**
   * What this wallet has signed.
   * @throws {ConfigurationError} without a wallet
   */
  get payments(): Payments {
    if (!this.#payments) throw new ConfigurationError('only a client with a wallet has payments');
    return this.#payments;
  }

  /**
   * Buys many searches with one payment, and gets a key for them: `new Search402({ apiKey: key })`.
   * Called again while its outcome is not known, it sends the same payment.
   * @throws {ConfigurationError} without a wallet
   * @throws {PaymentError} when the pack costs more than `maxDeposit`, or a budget or list refuses
   * @throws {ApiError} when the service answers with an error, after the retries
   */
  async buyPack(params: PackParams = {}, options: RequestOptions = {}): Promise<Pack> {
    const { settings, payer, runtime } = this.#parts;
    if (!payer) throw new ConfigurationError('only a client with a wallet buys packs');
    const request = { url: packsUrlOf(settings.url), body: JSON.stringify(params) };
    const limits = this.#limits(options);
    const call = new Call(settings, payer.forPacks(), runtime, request, limits, readPack);
    return packOf(await call.run());
  }

  /**
   * Searches the web. With a wallet, pays for it. `.withResponse()` on it gives more.
   * @throws {ApiError} when the service answers with an error, after the retries
   * @throws {ConnectionError} when no complete answer arrives, after the retries
   * @throws {PaymentError} when a cap, a list or the wallet refuses to pay
   */
  search(params: SearchParams, options: RequestOptions = {}): SearchPromise {
    return new SearchPromise(this.searchWithResponse(params, options));
  }

  /** Like {@link search}, with status, headers, the number of tries and the payment. */
  async searchWithResponse(
    params: SearchParams,
    options: RequestOptions = {},
  ): Promise<SearchOutcome> {
    return await this.#call(bodyOf(params), options);
  }

  /**
   * Several queries at once, merged by reciprocal rank, each URL once. With a wallet each query
   * is a payment of its own.
   * @throws the first error, only when every query failed; else see `failures`
   */
  async searchMany(
    params: SearchManyParams,
    options: RequestOptions = {},
  ): Promise<SearchManyResponse> {
    return await runMany(params, (one) => this.search(one, options));
  }

  /**
   * What the service asks for one search from a caller without a key. Nothing is signed.
   * @throws {ApiError} when the service answers with anything but a challenge
   */
  async quote(params: SearchParams = PRICED, options: RequestOptions = {}): Promise<Quote> {
    const { settings, runtime } = this.#parts;
    const keyless: Settings = { ...settings, apiKey: undefined };
    const { url } = keyless;
    const request = { url, body: bodyOf(params) };
    try {
      const limits = this.#limits(options);
      await new Call(keyless, undefined, runtime, request, limits, readSearchResponse).run();
    } catch (error) {
      if (error instanceof PaymentRequiredError && error.quote) return error.quote;
      throw error;
    }
    throw new ConfigurationError('this service answered a search without asking for a payment');
  }

  async #call(
    body: string,
    options: RequestOptions,
    more: Pick<CallLimits, 'deposit'> & Partial<Pick<CallLimits, 'mayOnlyResume'>> = {},
  ): Promise<SearchOutcome> {
    const { settings, payer, runtime } = this.#parts;
    const request = { url: settings.url, body };
    const limits = { ...this.#limits(options), ...more };
    return await new Call(settings, payer, runtime, request, limits, readSearchResponse).run();
  }

  #limits(options: RequestOptions): CallLimits {
    const { settings } = this.#parts;
    return {
      maxRetries: checkRetries(options.maxRetries ?? settings.maxRetries),
      timeoutMs: checkTimeout(timeoutOf(options) ?? settings.timeoutMs),
      signal: options.signal,
      headers: { ...settings.headers, ...lowerCased(options.headers ?? {}) },
      mayOnlyResume: false,
    };
  }
}

/** The search that is asked for where nobody wants its results. */
const PRICED: SearchParams = { query: 'price' };

/** The same search always has the same bytes, in whatever order its members were written. */
function bodyOf({ query, maxResults, maxDescriptionLength, ...unknown }: SearchParams): string {
  // What is not known is sent as well: the service names it in its refusal.
  return JSON.stringify({ query, maxResults, maxDescriptionLength, ...unknown });
}
