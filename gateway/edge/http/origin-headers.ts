import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';

/** A reply that was searched for, as it is stored. */
interface Found {
  /** The exact bytes of the SearchResponse. */
  readonly body: Uint8Array;
  /** The generation of the index that was searched, where it is known. */
  readonly generation?: number;
}

/**
 * Says what a reply was found in, and by which hash its bytes are known. `Unencoded-Digest`
 * (draft-ietf-httpbis-unencoded-digest) is the digest field of RFC 9530 for the bytes before any
 * content coding: `Content-Digest` and `Repr-Digest` would hash what gzip or brotli made of them,
 * another value for each caller, which no `fetch` shows and no receipt names.
 */
export function nameOrigin(response: ServerResponse, { body, generation }: Found): void {
  const hash = createHash('sha256').update(body).digest('base64');
  response.setHeader('Unencoded-Digest', `sha-256=:${hash}:`);
  if (generation !== undefined) response.setHeader('Index-Generation', String(generation));
}
