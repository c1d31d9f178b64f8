import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { SearchResponse } from '../../../search-core/contract.js';
import { parseUrl } from '../../../network/parse-url.js';
import { rateHeaders, type RateState } from '../../customers/limits/admission.js';
import type { Clock, Log, Random } from '../../ground/domain/ports.js';
import { isRefusal, type Refusal } from '../../ground/domain/refusal.js';
import type { Search } from '../../search/pipeline.js';
import { isPaidFor } from '../../search/reply.js';
import { hangUpUnfinished, readFormBody, readJsonBody, type BodyLimits } from '../http/body.js';
import { clientAddress } from '../http/client-address.js';
import { answerPreflight, isPreflight, showToPages } from '../http/cors.js';
import type { WriteRefusal } from '../http/door.js';
import { errorResponse, sendJson, sendRefusal } from '../http/error-reply.js';
import { expectedRefusal, INTERNAL_ERROR } from '../http/failure.js';
import { markPaid } from '../http/paid.js';
import { goneSignal } from '../http/search-route.js';
import type { Asked, Face, FaceReply } from './face.js';
import { credentialsOf, keyedPath } from './keys.js';
import { routeOf } from './routes.js';

export interface FacesParts {
  readonly search: Search;
  readonly bodyLimits: BodyLimits;
  readonly trustedProxies: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  readonly log: Log;
}

/** One request at a face, and where its reply goes. */
interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * The faces: requests as SearXNG, Tavily and Brave take them become searches of the pipeline, and
 * its replies and refusals become theirs. Keys only: these hosts cannot sign a payment.
 */
export function createFaces(parts: FacesParts): RequestListener {
  return (request, response) => {
    const visit = { request, response, requestId: parts.random.uuid(), clock: parts.clock };
    response.setHeader('X-Request-Id', visit.requestId);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    showToPages(response);
    const { route, key } = routed(request);
    if (isPreflight(request)) answerPreflight(request, response, 'GET, POST');
    else if (route.kind === 'text') sendPlain(response, route.text);
    else if (route.kind === 'refused') refuseAs(route.face, visit, route.refusal);
    else void serve(visit, { face: route.face, key }, parts);
  };
}

/** Writes the door's refusals in the form that the request's host reads. */
export function facesRefusals(clock: Pick<Clock, 'now'>): WriteRefusal {
  return (request, response, refusal, requestId) => {
    showToPages(response);
    const { route } = routed(request);
    const face = route.kind === 'text' ? undefined : route.face;
    refuseAs(face, { request, response, requestId, clock }, refusal);
  };
}

/** The address as a URL. Not by a base: `//search` would be a host. */
const addressOf = ({ url = '/' }: IncomingMessage) =>
  parseUrl(url.startsWith('/') ? `http://faces${url}` : url);

function routed(request: IncomingMessage) {
  const url = addressOf(request);
  const { path, key } = keyedPath(url?.pathname ?? '');
  return { route: routeOf(request, path, url?.searchParams ?? new URLSearchParams()), key };
}

/** Whom a request asks, and the key in its path. */
interface Asking {
  readonly face: Face;
  readonly key: string | undefined;
}

async function serve(visit: Visit, asking: Asking, parts: FacesParts): Promise<void> {
  const { response, requestId } = visit;
  try {
    await search(visit, asking, parts);
  } catch (error) {
    const refusal = expectedRefusal(error);
    if (!refusal) parts.log.error({ err: error, requestId }, 'a request to a face failed by a bug');
    if (response.headersSent) response.destroy();
    else refuseAs(asking.face, visit, refusal ?? INTERNAL_ERROR);
  }
}

async function search(visit: Visit, { face, key }: Asking, parts: FacesParts): Promise<void> {
  const { request, response, requestId } = visit;
  const asked = await readAsked(request, face, parts.bodyLimits);
  if (isRefusal(asked)) {
    hangUpUnfinished(request, response);
    refuseAs(face, visit, asked);
    return;
  }
  const question = face.read(asked);
  if ('kind' in question) {
    send(response, face.misread(question, contextOf(visit)));
    return;
  }
  const credentials = credentialsOf(request, key, asked.body);
  if (isRefusal(credentials)) {
    refuseAs(face, visit, credentials);
    return;
  }
  const reply = await parts.search({
    requestId,
    face: 'api',
    credentials,
    body: question.search,
    address: clientAddress(request, parts.trustedProxies),
    signal: goneSignal(response),
  });
  if (isPaidFor(reply)) markPaid(response);
  if (reply.kind === 'refused') {
    refuseAs(face, visit, reply.refusal, reply.rate);
    return;
  }
  if (reply.rate) setHeaders(response, rateHeaders({ kind: 'admitted', rate: reply.rate }));
  // The pipeline has checked these bytes against the contract.
  const answer = JSON.parse(new TextDecoder().decode(reply.body)) as SearchResponse;
  send(response, { status: 200, body: question.answer(answer, requestId) });
}

async function readAsked(
  request: IncomingMessage,
  face: Face,
  limits: BodyLimits,
): Promise<Asked | Refusal> {
  if (face.takes === 'json') {
    const body = await readJsonBody(request, limits);
    return isRefusal(body) ? body : { fields: new Map(), body: body.value };
  }
  const form = request.method === 'POST' ? await readFormBody(request, limits) : [];
  if (isRefusal(form)) return form;
  const fields = new Map<string, string>();
  for (const [name, value] of [...form, ...(addressOf(request)?.searchParams ?? [])]) {
    if (!fields.has(name)) fields.set(name, value);
  }
  return { fields, body: undefined };
}

function contextOf({ requestId, clock }: Visit, rate?: RateState) {
  return { requestId, rate, nowSeconds: Math.floor(clock.now() / 1000) };
}

/** Refuses in a face's form; in the service's own where the address is nobody's. */
function refuseAs(face: Face | undefined, visit: Visit, refusal: Refusal, rate?: RateState): void {
  const { response, requestId } = visit;
  if (response.destroyed) return;
  if (rate) setHeaders(response, rateHeaders({ kind: 'admitted', rate }));
  if (!face) {
    sendRefusal(response, refusal, requestId);
    return;
  }
  const { retryAfterSeconds } = refusal;
  if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(retryAfterSeconds));
  const { detail } = errorResponse(refusal, requestId);
  send(response, face.refuse({ ...refusal, detail }, contextOf(visit, rate)));
}

function send(response: ServerResponse, { status, body, headers = {} }: FaceReply): void {
  if (response.destroyed) return;
  response.setHeader('Cache-Control', status === 200 ? 'private, no-store' : 'no-store');
  if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer realm="search402"');
  if (status === 405) response.setHeader('Allow', 'GET, POST');
  setHeaders(response, headers);
  sendJson(response, status, Buffer.from(JSON.stringify(body)));
}

function setHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  response.setHeaders(new Map(Object.entries(headers)));
}

function sendPlain(response: ServerResponse, text: string): void {
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.end(text);
}
