import { request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import {
  checkedLookup,
  isRefusedLiteral,
  RefusedAddress,
  resolveHost,
} from '../../../network/checked-lookup.js';
import { isPublicAddress } from '../../../network/public-address.js';

/**
 * Bytes of a document that describes a client, and of whatever else a client's registration makes
 * the authorization server fetch. The draft of client-id metadata documents proposes 5 KB.
 */
export const DOCUMENT_BYTES_MAX = 5 * 1024;

/** Documents that are fetched at once; anyone can name an address that answers slowly. */
const CONCURRENT_MAX = 64;
const TIMEOUT_MS = 2500;

/**
 * Fetches what an unknown client names: over HTTPS, without redirects, within 2.5 seconds, and from
 * public addresses only, unless `reachesPrivate`. A name is looked up once and every address of it
 * is checked before anything is connected to, as the crawler does it.
 *
 * @throws RefusedAddress for any other address, and when too many are under way.
 */
export function documentFetch(
  reachesPrivate: boolean,
  resolve: (host: string) => Promise<readonly string[]> = resolveHost,
): (input: string | URL | Request, init?: RequestInit) => Promise<Response> {
  const isAllowedAddress = reachesPrivate ? () => true : isPublicAddress;
  const lookup = checkedLookup({ isAllowedAddress, resolve });
  let underWay = 0;
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.protocol !== 'https:') throw new RefusedAddress('only https is fetched');
    if (isRefusedLiteral(url, { isAllowedAddress })) {
      throw new RefusedAddress(`${url.hostname} is not on the public Internet`);
    }
    if (underWay >= CONCURRENT_MAX) throw new Error('too many documents are being fetched');
    underWay += 1;
    try {
      return toResponse(await get(url, init, lookup));
    } finally {
      underWay -= 1;
    }
  };
}

function get(
  url: URL,
  { method = 'GET', headers, signal }: RequestInit,
  lookup: ReturnType<typeof checkedLookup>,
): Promise<IncomingMessage> {
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    const asked = httpsRequest(url, {
      method,
      headers: { ...Object.fromEntries(new Headers(headers)), 'accept-encoding': 'identity' },
      lookup,
      // A connection of its own: one that is kept was checked for another name.
      agent: false,
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    });
    asked.on('response', resolve).on('error', reject).end();
  });
}

/** The answer as the authorization server reads it; a redirect stays one. */
function toResponse(message: IncomingMessage): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one);
  }
  const { statusCode: status = 502 } = message;
  const isEmpty = status === 204 || status === 205 || (status >= 300 && status < 400);
  if (isEmpty) message.destroy();
  const body = isEmpty ? null : (Readable.toWeb(message) as ReadableStream<Uint8Array>);
  return new Response(body, { status, headers });
}
