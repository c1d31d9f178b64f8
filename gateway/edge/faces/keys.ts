import type { IncomingMessage } from 'node:http';
import { KEY_PREFIX } from '../../customers/keys/format.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import type { Credentials } from '../../search/caller.js';

/** A path, and the key that hosts without a field for one carry in front of it. */
export interface KeyedPath {
  readonly path: string;
  readonly key: string | undefined;
}

/**
 * Splits `/s402_live_…/search`: a host that takes nothing but an address shows its key in it. Two
 * slashes count as one: hosts put `/search` behind an address that ends with a slash.
 */
export function keyedPath(given: string): KeyedPath {
  const [first = '', ...rest] = given.split('/').filter((part) => part !== '');
  if (first.startsWith(KEY_PREFIX)) return { path: `/${rest.join('/')}`, key: first };
  return { path: `/${[first, ...rest].join('/')}`, key: undefined };
}

/**
 * The one key that a request shows: in its address, as Bearer token, as user or password of the
 * address (Basic, RFC 7617), as Brave's `X-Subscription-Token` or as Tavily's `api_key`. The same key
 * in two places is one key; two keys are refused, since a search is charged once.
 */
export function credentialsOf(
  request: IncomingMessage,
  pathKey: string | undefined,
  body: unknown,
): Credentials | Refusal {
  const shown = new Set(
    [pathKey, bodyKey(body), ...headerKeys(request)].filter((key) => key !== undefined),
  );
  const [key, another] = shown;
  if (another !== undefined) {
    return refuse('ambiguous_credentials', 'Send one API key: a search is charged once.');
  }
  if (key === undefined) return { kind: 'none' };
  return { kind: 'bearer', authorization: `Bearer ${key}` };
}

/** Whether a request shows a key, or something in its place, before its body is read. */
export function claimsKey(request: IncomingMessage): boolean {
  const { authorization, 'x-subscription-token': token } = request.headers;
  return (
    authorization !== undefined ||
    token !== undefined ||
    keyedPath(request.url ?? '').key !== undefined
  );
}

function bodyKey(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('api_key' in body)) return undefined;
  return typeof body.api_key === 'string' && body.api_key !== '' ? body.api_key : undefined;
}

/** Works on the raw list: Node joins or drops repeated headers. */
function headerKeys({ rawHeaders }: IncomingMessage): string[] {
  const keys: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase();
    const value = rawHeaders[index + 1]?.trim() ?? '';
    if (name === 'x-subscription-token') keys.push(value);
    if (name === 'authorization') keys.push(authorizationKey(value));
  }
  return keys;
}

function authorizationKey(value: string): string {
  const [, scheme = '', token = ''] = /^(\S+) +(\S+)$/.exec(value) ?? [];
  if (scheme.toLowerCase() !== 'basic') return token === '' ? value : token;
  const pair = Buffer.from(token, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  const [user, password] = [pair.slice(0, colon), pair.slice(colon + 1)];
  return user.startsWith(KEY_PREFIX) ? user : password;
}
