import { parseUrl } from '../../../network/parse-url.js';

/** A wrong setting, or what OpenSearch answered when it should have done what it was asked. */
export class OpenSearchError extends Error {
  override readonly name = 'OpenSearchError';
}

/** An OpenSearch index as a setting names it. */
export interface OpenSearchAddress {
  /** Scheme, host and port, without a password. */
  readonly origin: string;
  readonly index: string;
  /** The Authorization header, where the setting has a name and a password. */
  readonly authorization: string | undefined;
}

/**
 * Parses `https://name:password@host:9200/index`.
 * @throws OpenSearchError that says what is wrong without repeating the password
 */
export function parseOpenSearch(text: string): OpenSearchAddress {
  const url = parseUrl(text);
  if (!url || !/^https?:$/u.test(url.protocol)) {
    throw new OpenSearchError(
      'an OpenSearch address is http(s)://[name:password@]host[:port]/index',
    );
  }
  const index = url.pathname.slice(1);
  if (!/^[a-z0-9][a-z0-9_-]{0,99}$/u.test(index) || url.search !== '' || url.hash !== '') {
    throw new OpenSearchError(
      'an OpenSearch address ends in the name of an index: a-z, 0-9, - and _',
    );
  }
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  const authorization = user === ':' ? undefined : `Basic ${Buffer.from(user).toString('base64')}`;
  return { origin: url.origin, index, authorization };
}

/** A reply's status and its JSON. */
export interface OpenSearchReply {
  readonly status: number;
  readonly body: unknown;
}

const DETAIL_LENGTH_MAX = 500;

/**
 * Sends one call of the REST API. `body` is JSON, or lines of it (for `_bulk`) as a string.
 * @throws OpenSearchError unless the status is 2xx or one of `expected`
 */
export async function callOpenSearch(
  { origin, authorization }: OpenSearchAddress,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  options: {
    readonly body?: object | string;
    readonly timeoutMs: number;
    readonly expected?: readonly number[];
  },
): Promise<OpenSearchReply> {
  const { body, timeoutMs, expected = [] } = options;
  const isLines = typeof body === 'string';
  const reply = await fetch(`${origin}${path}`, {
    method,
    headers: {
      ...(body !== undefined && {
        'content-type': isLines ? 'application/x-ndjson' : 'application/json',
      }),
      ...(authorization !== undefined && { authorization }),
    },
    ...(body !== undefined && { body: isLines ? body : JSON.stringify(body) }),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = await reply.text();
  if (!reply.ok && !expected.includes(reply.status)) {
    const detail = text.slice(0, DETAIL_LENGTH_MAX);
    throw new OpenSearchError(`${method} ${path} answered ${reply.status}: ${detail}`);
  }
  return { status: reply.status, body: text === '' ? {} : (JSON.parse(text) as unknown) };
}
