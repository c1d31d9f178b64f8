import { type Averages, inverseDocumentFrequency } from '../../rank/bm25f.js';
import type { OpenSearchClient } from './client.js';
import { statisticsBody } from './queries.js';
import { parseStatistics, type Statistics } from './replies.js';

/** What the formula has to know of the whole index, for the words of one query. */
export interface Collection extends Averages {
  readonly idfs: ReadonlyMap<string, number>;
}

/** For so long an index's numbers count as they were: they change slowly, and a rank little with them. */
const KNOWN_MS = 60_000;
const TERMS_MAX = 50_000;

interface Known {
  readonly pages: number;
  readonly averages: Averages;
  readonly idfs: Map<string, number>;
  readonly untilMs: number;
}

const NO_PAGES: Statistics = { pages: 0, averageBody: 1, averageTitle: 1, frequencies: [] };

/** Numbers of a whole index, of all shards together, kept for a minute. */
export class CollectionStatistics {
  private known: Known | undefined;

  constructor(
    private readonly client: OpenSearchClient,
    private readonly index: string,
  ) {}

  async of(terms: readonly string[], timeoutMs: number): Promise<Collection> {
    let known = this.current();
    const missing = [...new Set(terms)].filter((term) => known?.idfs.has(term) !== true);
    if (!known || missing.length > 0) known = await this.learn(missing, timeoutMs);
    return { ...known.averages, idfs: known.idfs };
  }

  forget(): void {
    this.known = undefined;
  }

  private current(): Known | undefined {
    const { known } = this;
    const isGood = known && performance.now() < known.untilMs && known.idfs.size < TERMS_MAX;
    return isGood ? known : undefined;
  }

  private async learn(terms: readonly string[], timeoutMs: number): Promise<Known> {
    const reply = await this.client.call('POST', `/${this.index}/_search`, {
      body: statisticsBody(terms),
      timeoutMs,
      expected: [404],
    });
    const found = reply.status === 404 ? NO_PAGES : parseStatistics(reply.body, terms.length);
    const known = this.current() ?? {
      pages: found.pages,
      averages: { averageBody: found.averageBody, averageTitle: found.averageTitle },
      idfs: new Map<string, number>(),
      untilMs: performance.now() + KNOWN_MS,
    };
    for (const [at, term] of terms.entries()) {
      known.idfs.set(term, inverseDocumentFrequency(found.pages, found.frequencies[at] ?? 0));
    }
    if (found.pages > 0) this.known = known;
    return known;
  }
}
