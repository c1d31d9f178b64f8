import { createHash } from 'node:crypto';
import type { SearchRequest } from '../../search-core/contract.js';
import type { RequestBinding } from '../money/ledger/payment.js';

/**
 * What an authorization is first used for: SHA-256 over method, path and the validated request with
 * its defaults filled in, so that another spelling of the same search is the same search.
 */
export function bindingOf(request: SearchRequest): RequestBinding {
  return `0x${createHash('sha256').update(canonicalRequest(request)).digest('hex')}`;
}

/** Method, path and the validated request, as one text. */
export function canonicalRequest(request: SearchRequest): string {
  const { query, maxResults, maxDescriptionLength } = request;
  return `POST\n/search\n${JSON.stringify([query, maxResults, maxDescriptionLength])}`;
}
