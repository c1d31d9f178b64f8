/**
 * Bytes of a document that describes a client, and of whatever else a client's registration makes
 * the authorization server fetch. The draft of client-id metadata documents proposes 5 KB.
 */
export const DOCUMENT_BYTES_MAX = 5 * 1024;

/** Documents that are fetched at once; anyone can name an address that answers slowly. */
const CONCURRENT_MAX = 64;

/**
 * Fetches what an unknown client names: over HTTPS, without redirects, within 2.5 seconds (all of
 * which the authorization server asks for), and from public addresses only, unless `reachesPrivate`:
 * its `dispatcher` hangs up on special-use addresses (RFC 6890) before it asks them anything.
 *
 * @throws where the guard against private addresses is missing, and when too many are under way.
 */
export function documentFetch(
  reachesPrivate: boolean,
): (input: string | URL | Request, init?: RequestInit) => Promise<Response> {
  let underWay = 0;
  return async (input, init: RequestInit = {}) => {
    if (underWay >= CONCURRENT_MAX) throw new Error('too many documents are being fetched');
    const { dispatcher, ...unguarded } = init;
    if (!reachesPrivate && dispatcher === undefined) throw new Error('addresses are not guarded');
    underWay += 1;
    try {
      return await fetch(input, reachesPrivate ? unguarded : init);
    } finally {
      underWay -= 1;
    }
  };
}
