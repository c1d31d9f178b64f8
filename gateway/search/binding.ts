import { createHash } from 'node:crypto';
import type { SearchRequest } from '../../search-core/contract.js';
import type { RequestBinding } from '../money/ledger/payment.js';

/**
 * What an authorization is first used for: SHA-256 over method, path and the validated request with
 * its defaults filled in, so that another spelling of the same search is the same search.
 */
export function bindingOf(request: SearchRequest): RequestBinding {
  const { query, maxResults, maxDescriptionLength } = request;
  const canonical = JSON.stringify([query, maxResults, maxDescriptionLength]);
  return `0x${createHash('sha256').update(`POST\n/search\n${canonical}`).digest('hex')}`;
}
