import { canonicalUrl } from '../url.js';
import type { Fetcher, FetchLimits } from './fetch.js';
import { ALLOW_ALL, disallowAll, parseRobots, type Robots, ROBOTS_BYTES_MAX } from './robots.js';

/** RFC 9309, section 2.3.1.2: at least five redirects are followed. */
const REDIRECTS_MAX = 5;

/**
 * A host's rules. Without a robots.txt (4xx) everything is allowed; where the server fails or
 * cannot be reached, nothing is (RFC 9309, sections 2.3.1.3 and 2.3.1.4).
 */
export async function robotsOf(
  origin: string,
  productToken: string,
  fetcher: Fetcher,
  limits: FetchLimits,
): Promise<Robots> {
  let url: string | undefined = `${origin}/robots.txt`;
  for (let hops = 0; hops <= REDIRECTS_MAX && url !== undefined; hops += 1) {
    const got = await fetcher.get(url, { ...limits, bytesMax: ROBOTS_BYTES_MAX });
    if (typeof got === 'string') return disallowAll(got);
    if (got.status >= 500) return disallowAll('robots_unavailable');
    if (got.status === 200) return parseRobots(got.body.toString('utf8'), productToken);
    const isRedirect = got.status >= 300 && got.status < 400;
    if (!isRedirect) return ALLOW_ALL;
    url = canonicalUrl(got.headers.location ?? '', url);
  }
  return ALLOW_ALL;
}
