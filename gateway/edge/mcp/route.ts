import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import type { Request as HttpRequest, RequestHandler, Response as HttpResponse } from 'express';
import { isRefusal, type Refusal } from '../../ground/domain/refusal.js';
import { hangUpUnfinished, readJsonBody, type BodyLimits } from '../http/body.js';
import { eventCoders, sendText } from '../http/encoding.js';
import { markPaid } from '../http/paid.js';
import { goneSignal } from '../http/search-route.js';
import type { Caller } from '../../customers/keys/caller.js';
import type { Face } from '../../search/caller.js';
import type { McpEndpoint } from './endpoint.js';
import { refuseOrigin } from './origin.js';

export type Resources = readonly [string, ...string[]];

export interface McpRouteParts {
  readonly endpoint: McpEndpoint;
  readonly face: Face;
  readonly bodyLimits: BodyLimits;
  /**
   * The addresses of this very route, such as `https://search.example/mcp`: the one whose host was
   * asked for is meant, or else the first. Tokens are good for the one at which they are used.
   */
  readonly resources: Resources;
  /** Hosts, without port, whose pages may call; those of this machine may always. */
  readonly originHosts: readonly string[];
  /** Checks an Authorization header's value: an API key, or an access token for `resource`. */
  authenticate(
    authorization: string,
    context: { readonly address: string; readonly resource: string },
  ): Promise<Caller | Refusal>;
}

/**
 * `/mcp`: the tool protocol over Streamable HTTP. On the keyed face a request without credentials
 * is a 401 that says where to sign in (RFC 9728, 5.1), so that clients start by themselves; on the
 * gateway the tool is listed openly and each call asks for its payment.
 */
export function mcpRoute(parts: McpRouteParts): RequestHandler {
  const { endpoint, face } = parts;
  return async (request, response) => {
    if (refuseOrigin(request, response, parts.originHosts)) return;
    const address = request.ip ?? 'unknown';
    const resource = resourceOf(request, parts.resources);
    const account = await identify(parts, request, { address, resource });
    if (isRefusal(account)) {
      challenge(response, account, resource, request.headers.authorization !== undefined);
      return;
    }
    if (account) markPaid(response);
    const body = request.method === 'POST' ? await readJsonBody(request, parts.bodyLimits) : {};
    if (isRefusal(body)) {
      hangUpUnfinished(request, response);
      sendProtocolError(response, body);
      return;
    }
    const gone = goneSignal(response);
    const value = 'value' in body ? body.value : undefined;
    const web = webRequest(request, resource, gone);
    const onPaid = () => markPaid(response);
    const caller = { face, account, address, signal: gone, onPaid };
    const answer = await endpoint.serve(web, value, caller);
    await send(answer, response, { isToolCall: isToolCall(value) });
  };
}

/** Which of its addresses a request came to, by its Host header. */
export function resourceOf(request: HttpRequest, resources: Resources): string {
  const { host } = request.headers;
  return resources.find((resource) => new URL(resource).host === host) ?? resources[0];
}

async function identify(
  parts: McpRouteParts,
  request: HttpRequest,
  context: { address: string; resource: string },
) {
  const { authorization } = request.headers;
  if (authorization === undefined && parts.face === 'gateway') return undefined;
  const caller = await parts.authenticate(authorization ?? '', context);
  return isRefusal(caller) ? caller : ({ kind: 'account', caller } as const);
}

/** The path of RFC 9728's metadata for a resource: the well-known part goes before its path. */
export function resourceMetadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource);
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`;
}

function challenge(
  response: HttpResponse,
  refusal: Refusal,
  resource: string,
  presented: boolean,
): void {
  if (refusal.status === 401) {
    const invalid = presented ? 'error="invalid_token", ' : '';
    response.setHeader(
      'WWW-Authenticate',
      `Bearer ${invalid}scope="search", resource_metadata="${resourceMetadataUrl(resource)}"`,
    );
  }
  sendProtocolError(response, refusal);
}

/** JSON-RPC's parse error; what else is wrong with the HTTP around a message has no code of its own. */
const PARSE_ERROR = -32_700;
const SERVER_ERROR = -32_000;

/** A refusal of the HTTP around a message, in the protocol's words. */
function sendProtocolError(response: HttpResponse, refusal: Refusal): void {
  if (refusal.retryAfterSeconds !== undefined) {
    response.setHeader('Retry-After', String(refusal.retryAfterSeconds));
  }
  response.setHeader('Cache-Control', 'no-store');
  const code = refusal.code === 'malformed_request' ? PARSE_ERROR : SERVER_ERROR;
  const error = { code, message: refusal.detail, data: { code: refusal.code } };
  response.status(refusal.status).json({ jsonrpc: '2.0', id: null, error });
}

/** The request as the protocol's handler takes it, without its body, which was read before. */
function webRequest(request: HttpRequest, url: string, signal: AbortSignal): Request {
  const headers = new Headers();
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index] ?? '';
    // Credentials have been looked at; what follows has no use for them.
    if (!/^(authorization|cookie)$/i.test(name)) {
      headers.append(name, request.rawHeaders[index + 1] ?? '');
    }
  }
  if (acceptsAnything(headers.get('accept'))) headers.set('accept', BOTH_FORMS);
  return new Request(url, { method: request.method, headers, signal });
}

const BOTH_FORMS = 'application/json, text/event-stream';

/**
 * Whether every type will do (RFC 9110, 12.5.1): no Accept header says so, and so does a wildcard.
 * The protocol's handler looks for both types by name.
 */
function acceptsAnything(accept: string | null): boolean {
  return accept === null || /(?:^|,)\s*\*\/\*\s*(?:$|[,;])/.test(accept);
}

/** Whether a message asks for a search: its answer is long, and ends. */
function isToolCall(message: unknown): boolean {
  return (message as { method?: unknown } | undefined)?.method === 'tools/call';
}

async function send(
  answer: Response,
  response: HttpResponse,
  { isToolCall }: { readonly isToolCall: boolean },
): Promise<void> {
  if (response.destroyed) return;
  response.status(answer.status);
  answer.headers.forEach((value, name) => response.setHeader(name, value));
  response.setHeader('Cache-Control', 'private, no-store');
  if (!answer.body) {
    response.end();
    return;
  }
  if (answer.headers.get('content-type')?.startsWith('application/json')) {
    // A caller that hangs up ends the answer before it is whole.
    const whole = await answer.arrayBuffer().catch(() => undefined);
    if (whole) sendText(response, new Uint8Array(whole));
    return;
  }
  // Other streams stay open for long, and each coder holds a quarter of a megabyte.
  const coders = isToolCall ? eventCoders(response) : [];
  response.flushHeaders();
  const body = Readable.fromWeb(answer.body as ReadableStream<Uint8Array>);
  // A caller that hangs up ends the stream: that is not our error.
  await pipeline([body, ...coders, response]).catch(() => undefined);
}
