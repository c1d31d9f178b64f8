import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where `npm run opensearch` keeps OpenSearch: OPENSEARCH_HOME, or the user's cache. */
export const opensearchHome =
  process.env.OPENSEARCH_HOME ?? join(homedir(), '.cache', 'search402', 'opensearch-2.19.1');
