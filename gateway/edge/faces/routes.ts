import type { IncomingMessage } from 'node:http';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import { brave } from './brave.js';
import type { Face } from './face.js';
import { searxng } from './searxng.js';
import { tavily } from './tavily.js';

/** Where a request goes: to a face; or it is answered, or refused in a face's form, at once. */
export type Route =
  | { readonly kind: 'search'; readonly face: Face }
  | { readonly kind: 'refused'; readonly face: Face | undefined; readonly refusal: Refusal }
  | { readonly kind: 'text'; readonly text: string };

const ABOUT = `search402 for hosts that speak another search service's language:

  SearXNG  GET or form POST /search?q=...&format=json
  Tavily   POST /search with a JSON body
  Brave    GET /res/v1/web/search?q=... with X-Subscription-Token
`;

const NO_FETCHING =
  'This service searches an index and does not fetch pages. Use /search: results carry the text ' +
  'that matches.';
const WEB_ONLY = 'This service has web search only: GET /res/v1/web/search.';

/**
 * Chooses by path, method and form. SearXNG and Tavily share `/search`: Tavily's is a POST whose body
 * says everything; a GET, a form, or a `q` in the address is SearXNG's (docs/decisions/faces.md).
 */
export function routeOf(request: IncomingMessage, path: string, query: URLSearchParams): Route {
  const { method } = request;
  const isSearxng = method === 'GET' || (method === 'POST' && (isForm(request) || query.has('q')));
  switch (path) {
    case '/search':
      if (isSearxng) return { kind: 'search', face: searxng };
      return method === 'POST' ? { kind: 'search', face: tavily } : wrongMethod(searxng);
    case '/':
      if (method === 'GET' && !query.has('q')) return { kind: 'text', text: ABOUT };
      return isSearxng ? { kind: 'search', face: searxng } : wrongMethod(searxng);
    case '/healthz':
      return { kind: 'text', text: 'OK' };
    case '/res/v1/web/search':
      return method === 'GET' ? { kind: 'search', face: brave } : wrongMethod(brave);
    case '/extract':
    case '/crawl':
    case '/map':
    case '/research':
      return refused(tavily, refuse('plan_restricted', NO_FETCHING));
    default:
      if (path.startsWith('/res/v1/')) return refused(brave, refuse('plan_restricted', WEB_ONLY));
      return refused(undefined, refuse('not_found', 'Not found. Hosts search at /search.'));
  }
}

/** Whether a body is a form, as SearXNG takes them. */
function isForm({ headers }: IncomingMessage): boolean {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  return type.trim().toLowerCase() === 'application/x-www-form-urlencoded';
}

function wrongMethod(face: Face): Route {
  return refused(face, refuse('method_not_allowed', 'Use GET or POST.'));
}

function refused(face: Face | undefined, refusal: Refusal): Route {
  return { kind: 'refused', face, refusal };
}
