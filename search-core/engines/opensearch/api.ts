import { readFileSync } from 'node:fs';
import { parseUrl } from '../../../network/parse-url.js';

/** A wrong setting, or what OpenSearch answered when it should have done what it was asked. */
export class OpenSearchError extends Error {
  override readonly name = 'OpenSearchError';
}

/** An OpenSearch index as a setting names it. */
export interface OpenSearchAddress {
  /** Scheme, host and port of each node that takes calls, without a password; at least one. */
  readonly origins: readonly string[];
  readonly index: string;
  /** The Authorization header, where the setting has a name and a password. */
  readonly authorization: string | undefined;
}

const SHAPE = 'http(s)://[name:password@]host[:port][,http(s)://host[:port]…]/index';

/**
 * Parses `https://name:password@one:9200,https://two:9200/index`: the nodes of one cluster, with the
 * name and password of the first for all of them.
 * @param passwordFile a file with the password, where the setting has the name alone
 * @throws OpenSearchError that says what is wrong without repeating the password
 */
export function parseOpenSearch(text: string, passwordFile?: string): OpenSearchAddress {
  const urls = text.split(',').map((part) => parseUrl(part.trim()));
  const [first] = urls;
  const last = urls.at(-1);
  const isBare = urls.slice(0, -1).every((url) => url?.pathname === '/');
  if (!first || !last || !isBare || !urls.every((url) => /^https?:$/u.test(url?.protocol ?? ''))) {
    throw new OpenSearchError(`an OpenSearch address is ${SHAPE}`);
  }
  const index = last.pathname.slice(1);
  if (!/^[a-z0-9][a-z0-9_-]{0,99}$/u.test(index) || last.search !== '' || last.hash !== '') {
    throw new OpenSearchError(
      'an OpenSearch address ends in the name of an index: a-z, 0-9, - and _',
    );
  }
  const name = decodeURIComponent(first.username);
  const password =
    passwordFile === undefined
      ? decodeURIComponent(first.password)
      : readFileSync(passwordFile, 'utf8').trim();
  const user = `${name}:${password}`;
  const authorization = user === ':' ? undefined : `Basic ${Buffer.from(user).toString('base64')}`;
  return { origins: urls.flatMap((url) => url?.origin ?? []), index, authorization };
}

/** How people see the index: without a password. */
export function placeOf({ origins, index }: OpenSearchAddress): string {
  return `${origins.join(',')}/${index}`;
}
