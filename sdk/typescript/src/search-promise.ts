import type { SearchOutcome } from './call.js';
import type { SearchResponse } from './types.js';

/** A search under way: its answer, and on request what stood around it. */
export class SearchPromise extends Promise<SearchResponse> {
  /** What `then` makes is an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  readonly #outcome: Promise<SearchOutcome>;

  /** @internal */
  constructor(outcome: Promise<SearchOutcome>) {
    // Its own value is never looked at: `then` below takes it from the outcome. So nothing stays
    // unhandled where only `withResponse()` is awaited.
    super((resolve) => resolve(undefined as never));
    this.#outcome = outcome;
  }

  /** The answer with status, headers, the number of tries, the payment and the HTTP response. */
  withResponse(): Promise<SearchOutcome> {
    return this.#outcome;
  }

  /** The HTTP response as `fetch` would give it, its body not yet read. */
  async asResponse(): Promise<Response> {
    return (await this.#outcome).response;
  }

  override then<A = SearchResponse, B = never>(
    onDone?: ((response: SearchResponse) => A | PromiseLike<A>) | null,
    onFailed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#outcome.then(({ data }) => data).then(onDone, onFailed);
  }
}
