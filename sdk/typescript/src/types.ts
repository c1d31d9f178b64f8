/** One search, as `POST /search` takes it. The service checks the bounds and answers 422. */
export interface SearchParams {
  /** 1 to 50 words in keyword form; word order matters. */
  readonly query: string;
  /** How many results, 1 to 20; the service's default is 10. */
  readonly maxResults?: number | undefined;
  /** Characters in each description at the most, 1000 to 8000; the service's default is 3000. */
  readonly maxDescriptionLength?: number | undefined;
}

/** One found page. */
export interface SearchResultItem {
  readonly title: string;
  readonly url: string;
  /** Text from the page, at most `maxDescriptionLength` characters. */
  readonly description: string;
}

/** The answer to one search. */
export interface SearchResponse {
  readonly requestId: string;
  readonly result: {
    /** In ranked order, best first. */
    readonly results: readonly SearchResultItem[];
    readonly searchMetadata: {
      /** Duration of the search in seconds. */
      readonly executionTime: number;
    };
    readonly totalResults: number;
  };
}

/** What one call may change. */
export interface RequestOptions {
  /** Retries after the first try, 0 to 10. */
  readonly maxRetries?: number | undefined;
  /** Milliseconds for each try, its body included. */
  readonly timeoutMs?: number | undefined;
  /** The same as `timeoutMs`, as generated SDKs spell it. */
  readonly timeout?: number | undefined;
  /** Ends the call with {@link AbortedError}. A payment that was sent stays open. */
  readonly signal?: AbortSignal | undefined;
  /** Added to the request; they cannot replace the credentials. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}
