/**
 * The shapes that search-core speaks over HTTP: `POST /search` takes a SearchRequest and answers
 * with a SearchResponse. The service specification calls all of them closed.
 */
export interface SearchRequest {
  /** 1 to 50 words, separated by white space. */
  readonly query: string;
  /** 1 to 20, default 10. */
  readonly maxResults: number;
  /** Characters (UTF-16 code units) in each description at the most: 1000 to 8000, default 3000. */
  readonly maxDescriptionLength: number;
}

export interface SearchResultItem {
  readonly title: string;
  readonly url: string;
  readonly description: string;
}

export interface SearchResponse {
  readonly requestId: string;
  readonly result: {
    readonly results: readonly SearchResultItem[];
    readonly searchMetadata: {
      /** Seconds. */
      readonly executionTime: number;
    };
    readonly totalResults: number;
  };
}

/** Names the generation of the index that a search looked at; for the gateway, which signs it. */
export const GENERATION_HEADER = 'x-index-generation';

export const QUERY_WORDS_MAX = 50;
export const RESULTS = { min: 1, max: 20, default: 10 } as const;
export const DESCRIPTION_LENGTH = { min: 1000, max: 8000, default: 3000 } as const;

/** The words of a query: separated by white space, extra white space ignored. */
export function queryWords(query: string): string[] {
  return query.split(/\s+/u).filter((word) => word !== '');
}
