import { Router, type Request, type Response } from 'express';
import type { Clock } from '../../ground/domain/ports.js';
import type { FreeSearch } from '../../search/free.js';
import type { Offer } from '../../money/x402/terms.js';
import { assetBytes } from '../console/assets.js';
import { pagePolicy } from '../console/guard.js';
import { sendText } from '../http/encoding.js';
import { createCors } from '../http/cors.js';
import { goneSignal } from '../http/search-route.js';
import { factsOf, type FrontFacts, type IndexState } from './facts.js';
import { frontPage } from './page.js';
import { frontJson, frontMarkdown, ROBOTS, x402Resources } from './texts.js';

export interface FrontParts extends Pick<FrontFacts, 'url' | 'mcp'> {
  readonly clock: Clock;
  readonly freeSearch: FreeSearch;
  /** What a search costs now. */
  readonly offer: () => Offer;
  readonly isReady: () => Promise<boolean>;
  /** Who signs for this service (did:web); absent where nothing is signed. */
  readonly didDocument?: Readonly<Record<string, unknown>>;
  /** What the index holds; undefined where it cannot be told. */
  readonly index: () => Promise<IndexState | undefined>;
}

const MAX_AGE_SECONDS = 300;
const MARKDOWN = 'text/markdown';
/** Where did:web looks (W3C, did:web method specification). */
const DID = '/.well-known/did.json';

/**
 * The front door of the gateway: `/` for people and for programs, and the files at which crawlers and
 * agents look first. The keys-only address has none of them: there they are the contract's 404.
 */
export function frontRoutes(parts: FrontParts): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const facts = async () => {
    const [isReady, index] = await Promise.all([parts.isReady(), parts.index()]);
    return factsOf(parts.offer(), { url: parts.url, mcp: parts.mcp, isReady, index });
  };
  const publicText = (
    type: string,
    text: (facts: FrontFacts) => string,
  ): ((request: Request, response: Response) => Promise<void>) => {
    return async (_request, response) => {
      response.type(type);
      response.setHeader('Cache-Control', `public, max-age=${MAX_AGE_SECONDS}`);
      sendText(response, Buffer.from(text(await facts())));
    };
  };
  const markdown = publicText(MARKDOWN, frontMarkdown);
  const json = publicText('json', (known) => JSON.stringify(frontJson(known), null, 2));

  router.all(['/', '/llms.txt', '/.well-known/x402', DID], createCors('GET'));
  router.get('/', async (request, response) => {
    response.vary('Accept');
    response.setHeader('Link', LINKS);
    // Whoever names no type is a program more often than a person: it gets what both can read.
    const form = request.accepts([MARKDOWN, 'html', 'json']);
    if (form === 'html') await sendFront(parts, await facts(), request, response);
    else if (form === 'json') await json(request, response);
    else await markdown(request, response);
  });
  router.get('/llms.txt', markdown);
  router.get(
    '/robots.txt',
    publicText('text/plain', () => ROBOTS),
  );
  router.get(
    '/.well-known/x402',
    publicText('json', (known) => JSON.stringify(x402Resources(known))),
  );
  const { didDocument } = parts;
  if (didDocument) {
    const text = JSON.stringify(didDocument);
    router.get(
      DID,
      publicText('json', () => text),
    );
  }
  router.get('/favicon.ico', (_request, response) => {
    response.type('image/svg+xml');
    response.setHeader('Cache-Control', 'public, max-age=86400');
    response.send(assetBytes('icon.svg'));
  });
  return router;
}

/** RFC 8288; the relations are of RFC 8631 and RFC 6415. */
const LINKS = [
  '</openapi.json>; rel="service-desc"; type="application/json"',
  '</docs>; rel="service-doc"; type="text/html"',
  '</llms.txt>; rel="alternate"; type="text/markdown"',
  '</readyz>; rel="status"; type="application/json"',
].join(', ');

const QUERY_LENGTH_MAX = 200;

async function sendFront(
  { freeSearch, clock }: FrontParts,
  facts: FrontFacts,
  request: Request,
  response: Response,
): Promise<void> {
  const address = request.ip ?? 'unknown';
  const { q } = request.query;
  const query = typeof q === 'string' ? q.trim().slice(0, QUERY_LENGTH_MAX) : '';
  const isAsked = query !== '' && freeSearch.perDay > 0 && request.method === 'GET';
  const reply =
    isAsked && isForThisPage(request)
      ? await freeSearch.run(query, address, goneSignal(response))
      : undefined;
  const { perDay } = freeSearch;
  response.setHeader('Content-Security-Policy', pagePolicy());
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
  response.setHeader('Cache-Control', 'private, no-store');
  response.type('html');
  const page = frontPage({
    facts,
    free: { perDay, left: freeSearch.remaining(address) },
    query,
    found: reply && { query, reply },
    now: new Date(clock.now()),
  });
  sendText(response, Buffer.from(page));
}

/**
 * Whether a person wanted this: opened it, or searched on the page itself. A picture or a frame of
 * another site does not use up what its visitors have (Fetch Metadata).
 */
function isForThisPage({ headers }: Request): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-dest': destination } = headers;
  if (headers.purpose === 'prefetch' || headers['sec-purpose'] !== undefined) return false;
  return site !== 'cross-site' || destination === 'document';
}
