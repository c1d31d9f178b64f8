/** The part of Lucene's matching and scoring that the adapter's queries lean on, done plainly. */

type Source = Readonly<Record<string, string | number | readonly string[]>>;

/** Positions that stay free between two values of one field (`position_increment_gap`). */
const VALUES_GAP = 100;
type Positions = ReadonlyMap<string, readonly number[]>;

interface Entry {
  readonly source: Source;
  /** By field. */
  readonly words: ReadonlyMap<string, Positions>;
}

interface MultiMatch {
  readonly type: 'cross_fields' | 'phrase';
  readonly query: string;
  readonly fields: readonly string[];
  readonly slop?: number;
  readonly boost?: number;
}

interface Clause {
  readonly multi_match: MultiMatch;
}

export interface SearchBody {
  readonly size: number;
  readonly query: {
    readonly bool: Readonly<Record<'must' | 'filter' | 'should', readonly Clause[]>>;
  };
}

/** A search for numbers of the whole index. */
export interface StatisticsBody {
  readonly size: 0;
  readonly aggs?: {
    readonly words?: {
      readonly filters: {
        readonly filters: Readonly<Record<string, { readonly term: { readonly words: string } }>>;
      };
    };
  };
}

export interface Definition {
  readonly settings: {
    readonly analysis: {
      readonly filter: { readonly plain_words: { readonly patterns: readonly string[] } };
    };
  };
  readonly mappings: {
    readonly _source: { readonly excludes: readonly string[] };
    readonly _meta?: object;
  };
}

const FIELDS = ['title_words', 'body_words', 'words'];

export class FakeIndex {
  meta: object | undefined;
  visible: readonly Entry[] = [];
  private readonly written = new Map<string, Source>();

  constructor(
    readonly name: string,
    private readonly definition: Definition,
  ) {
    this.meta = definition.mappings._meta;
  }

  /** Whether a document with this id was written, refreshed or not. */
  has(id: string): boolean {
    return this.written.has(id);
  }

  bulk(lines: string): object[] {
    const parsed = lines
      .split('\n')
      .filter((line) => line !== '')
      .map(
        (line) =>
          JSON.parse(line) as Source & { index?: { _id: string }; delete?: { _id: string } },
      );
    const items: object[] = [];
    for (let at = 0; at < parsed.length; at++) {
      const { index, delete: gone } = parsed[at] ?? {};
      if (gone) this.written.delete(gone._id);
      const source = index && parsed[++at];
      if (source) this.written.set(index._id, source);
      items.push(index ? { index: { status: 201 } } : { delete: { status: 200 } });
    }
    return items;
  }

  refresh(): void {
    const { excludes } = this.definition.mappings._source;
    this.visible = [...this.written.values()].map((all) => ({
      source: Object.fromEntries(Object.entries(all).filter(([name]) => !excludes.includes(name))),
      words: new Map(FIELDS.map((field) => [field, this.analyze(valuesOf(all[field]))])),
    }));
  }

  statistics({ aggs }: StatisticsBody): object {
    const average = (field: string): object => {
      const values = this.visible.map(({ source }) => Number(source[field]));
      const sum = values.reduce((all, value) => all + value, 0);
      return { value: values.length === 0 ? null : sum / values.length };
    };
    const filters = Object.entries(aggs?.words?.filters.filters ?? {});
    const buckets = filters.map(([name, { term }]): [string, object] => [
      name,
      { doc_count: this.visible.filter(({ words }) => words.get('words')?.has(term.words)).length },
    ]);
    return {
      body: average('body_length'),
      title: average('title_length'),
      words: { buckets: Object.fromEntries(buckets) },
    };
  }

  /** Pages with the term in any field. */
  frequency(term: string): number {
    return this.visible.filter(({ words }) => words.get('words')?.has(term)).length;
  }

  /** Words between white space, and at the same position what the patterns capture of them. */
  private analyze(values: readonly string[]): Positions {
    const positions = new Map<string, number[]>();
    const { patterns } = this.definition.settings.analysis.filter.plain_words;
    let at = 0;
    for (const value of values) {
      for (const word of value.split(/\s+/u).filter((one) => one !== '')) {
        const captured = patterns.flatMap((one) => new RegExp(one, 'u').exec(word)?.[1] ?? []);
        for (const term of [word, ...captured]) {
          positions.set(term, [...(positions.get(term) ?? []), at]);
        }
        at += 1;
      }
      at += VALUES_GAP;
    }
    return positions;
  }
}

function valuesOf(value: string | number | readonly string[] | undefined): readonly string[] {
  return typeof value === 'object' ? value : [String(value)];
}

/** The hits of a search: all of `must` and `filter`, by score, then by `order`. */
export function bestOf(index: FakeIndex, { size, query }: SearchBody): object[] {
  const { must, filter, should } = query.bool;
  const sum = (entry: Entry, clauses: readonly Clause[]): number =>
    clauses.reduce((all, { multi_match }) => all + score(index, entry, multi_match), 0);
  return index.visible
    .filter((entry) =>
      [...must, ...filter].every(({ multi_match }) => score(index, entry, multi_match) > 0),
    )
    .map((entry) => ({ entry, score: Math.fround(sum(entry, must) + sum(entry, should)) }))
    .sort(
      (a, b) => b.score - a.score || Number(a.entry.source.order) - Number(b.entry.source.order),
    )
    .slice(0, size)
    .map(({ entry }) => ({ _source: entry.source }));
}

/** A search by `order` alone. */
export interface RangeBody {
  readonly size: number;
  readonly query: { readonly range: { readonly order: { readonly gt: number } } };
}

/** The hits behind one in the order of coming. */
export function behind(index: FakeIndex, { size, query }: RangeBody): object[] {
  const orderOf = ({ source }: Entry): number => Number(source.order);
  return index.visible
    .filter((entry) => orderOf(entry) > query.range.order.gt)
    .sort((a, b) => orderOf(a) - orderOf(b))
    .slice(0, size)
    .map(({ source }) => ({ _source: source }));
}

function score(index: FakeIndex, { words }: Entry, match: MultiMatch): number {
  const terms = match.query.split(' ');
  const idf = (term: string): number =>
    Math.log(
      1 + (index.visible.length - index.frequency(term) + 0.5) / (index.frequency(term) + 0.5),
    );
  const best = (weigh: (positions: Positions) => number): number =>
    Math.max(
      ...match.fields.map((field) => {
        const [name = '', boost = '1'] = field.split('^');
        const positions: Positions = words.get(name) ?? new Map<string, number[]>();
        return Number(boost) * weigh(positions) * (match.boost ?? 1);
      }),
    );
  const saturated = (frequency: number): number => frequency / (1.2 + frequency);
  if (match.type === 'cross_fields') {
    return terms.reduce(
      (all, term) => all + best((list) => idf(term) * saturated(list.get(term)?.length ?? 0)),
      0,
    );
  }
  const idfs = terms.reduce((all, term) => all + idf(term), 0);
  return best((list) => idfs * saturated(phraseFrequency(list, terms, match.slop ?? 0)));
}

/** Exact phrases of any length; with a slop, pairs, each worth 1 / (1 + distance). */
function phraseFrequency(positions: Positions, terms: readonly string[], slop: number): number {
  const starts = positions.get(terms[0] ?? '') ?? [];
  if (slop === 0) {
    return starts.filter((start) =>
      terms.every((term, i) => positions.get(term)?.includes(start + i)),
    ).length;
  }
  const seconds = positions.get(terms[1] ?? '') ?? [];
  const distances = starts.flatMap((start) =>
    seconds.map((second) => Math.abs(second - start - 1)),
  );
  return distances
    .filter((distance) => distance <= slop)
    .reduce((all, distance) => all + 1 / (1 + distance), 0);
}
