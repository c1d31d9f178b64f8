import { RESULTS, type SearchResultItem } from '../../../search-core/contract.js';
import { parseUrl } from '../../../network/parse-url.js';

/** Which of a query's results a host gets. */
export interface Selection {
  /** Results that are left out at the front, as earlier pages had them. */
  readonly skip: number;
  /** Results at the most, at least 0. */
  readonly count: number;
  readonly domains: Domains;
}

/** Results come from these domains only, where any is named, and never from the others. */
export interface Domains {
  readonly only: readonly string[];
  readonly never: readonly string[];
}

/** How many results to ask for: all there may be where some of them will be sorted out. */
export function resultsToAsk({ skip, count, domains }: Selection): number {
  if (domains.only.length + domains.never.length > 0) return RESULTS.max;
  return Math.min(RESULTS.max, Math.max(RESULTS.min, skip + count));
}

/** The results that the host gets, in ranked order. */
export function selected(
  results: readonly SearchResultItem[],
  { skip, count, domains }: Selection,
): readonly SearchResultItem[] {
  const { only, never } = domains;
  const wanted = results.filter(
    ({ url }) =>
      (only.length === 0 || only.some((domain) => isOf(url, domain))) &&
      !never.some((domain) => isOf(url, domain)),
  );
  return wanted.slice(skip, skip + count);
}

/** Whether an address is of `example.com`, `www.example.com`, `example.com/docs` or `*.com`. */
function isOf(url: string, domain: string): boolean {
  const page = parseUrl(url);
  if (!page) return false;
  const [host = '', ...path] = domain
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/^(?:\*\.|www\.)/, '')
    .split('/');
  const isHost = page.hostname === host || page.hostname.endsWith(`.${host}`);
  return isHost && page.pathname.toLowerCase().startsWith(`/${path.join('/')}`);
}

/** A query without its operators, and what they asked for. */
export interface PlainQuery {
  readonly query: string;
  readonly domains: Domains;
}

const SITE = /^\(*(?<not>-?)site:(?<domain>[^\s()]+)\)*$/i;

/**
 * Takes `site:` and `-site:` out of a query, which some hosts write to keep to a domain, together
 * with the `AND`, `OR` and brackets that they put between. Other queries stay as they are.
 */
export function plainQuery(text: string): PlainQuery {
  const words = text.split(/\s+/);
  const sites = words.flatMap((word) => {
    const { not, domain } = SITE.exec(word)?.groups ?? {};
    return domain === undefined ? [] : [{ isOut: not === '-', domain }];
  });
  if (sites.length === 0) return { query: text, domains: { only: [], never: [] } };
  const others = words
    .filter((word) => !SITE.test(word) && word !== 'AND' && word !== 'OR')
    .map((word) => word.replace(/^\(+|\)+$/g, ''));
  const domainsThat = (isOut: boolean) =>
    sites.filter((site) => site.isOut === isOut).map(({ domain }) => domain);
  return {
    query: others.join(' ').trim(),
    domains: { only: domainsThat(false), never: domainsThat(true) },
  };
}

/** A number that says no more than the rank: 1 for the first result, then less and less. */
export function rankScore(rank: number): number {
  return Number((1 / (rank + 1)).toFixed(6));
}
