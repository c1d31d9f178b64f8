import { DESCRIPTION_LENGTH } from '../../../search-core/contract.js';
import { parseUrl } from '../../../network/parse-url.js';
import { misread, type Asked, type Face, type Misread, type Question } from './face.js';
import { plainQuery, rankScore, resultsToAsk, selected } from './selection.js';

/** Results on a page; a query has two pages. */
const PAGE_RESULTS = 10;
/** What SearXNG says of itself in `engine`. */
const ENGINE = 'search402';

/** Values that SearXNG checks, and refuses otherwise, although they change nothing here. */
const CHECKED = new Map([
  ['safesearch', /^[012]$/],
  ['time_range', /^(?:day|week|month|year|None)$/],
]);

/**
 * SearXNG's search API, JSON only (docs.searxng.org/dev/search_api.html; the fields of a result are
 * those of `searx/result_types`).
 */
export const searxng: Face = {
  takes: 'fields',
  read,
  misread: ({ field, detail }) => ({
    status: field === 'format' ? 403 : 400,
    body: { error: detail },
  }),
  refuse: ({ code, status, detail }) => ({
    status: status === 422 ? 400 : status,
    body: { error: code === 'missing_api_key' ? NO_KEY : detail },
  }),
};

/** SearXNG has no keys, and most of its hosts have a field for an address only. */
const NO_KEY =
  'Put an API key into the address, as in http://HOST/s402_live_…/search, or send it as ' +
  '"Authorization: Bearer s402_live_…".';

function read({ fields }: Asked): Question | Misread {
  // SearXNG answers 403 for formats that its operator has not switched on.
  if (fields.get('format') !== 'json') return misread('format', 'Only format=json is enabled.');
  const text = withoutBangs(fields.get('q') ?? '');
  if (text === '') return misread('q', 'No query');
  const page = fields.get('pageno') ?? '1';
  if (!/^[1-9][0-9]{0,5}$/.test(page)) return invalid('pageno', page);
  for (const [name, shape] of CHECKED) {
    const value = fields.get(name) ?? '';
    if (value !== '' && !shape.test(value)) return invalid(name, value);
  }
  const { query, domains } = plainQuery(text);
  const selection = { skip: (Number(page) - 1) * PAGE_RESULTS, count: PAGE_RESULTS, domains };
  return {
    search: {
      query,
      maxResults: resultsToAsk(selection),
      maxDescriptionLength: DESCRIPTION_LENGTH.min,
    },
    answer({ result }) {
      const results = selected(result.results, selection).map(
        ({ title, url, description }, index) => ({
          url,
          title,
          content: description,
          engine: ENGINE,
          engines: [ENGINE],
          category: 'general',
          template: 'default.html',
          parsed_url: parsedUrl(url),
          positions: [selection.skip + index + 1],
          score: rankScore(selection.skip + index),
        }),
      );
      return {
        query: fields.get('q') ?? '',
        number_of_results: results.length,
        results,
        answers: [],
        corrections: [],
        infoboxes: [],
        suggestions: [],
        unresponsive_engines: [],
      };
    },
  };
}

/** SearXNG's sentence (`searx/exceptions.py`, SearxParameterException). */
function invalid(name: string, value: string): Misread {
  return misread(name, `Invalid value "${value.slice(0, 100)}" for parameter ${name}`);
}

/** `!bang` and `:language` choose engines and languages in SearXNG, of which there is one here. */
function withoutBangs(text: string): string {
  const words = text.trim().split(/\s+/);
  const others = words.filter((word) => !/^(?:!{1,2}\w+|:[a-z]{2,3}(?:-[A-Z]{2})?)$/.test(word));
  return others.join(' ');
}

/** What Python's urlparse() makes of an address: scheme, host, path, parameters, query, fragment. */
function parsedUrl(url: string): readonly string[] {
  const parsed = parseUrl(url);
  if (!parsed) return ['', '', url, '', '', ''];
  const { protocol, host, pathname, search, hash } = parsed;
  return [protocol.slice(0, -1), host, pathname, '', search.slice(1), hash.slice(1)];
}
