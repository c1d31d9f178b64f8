import type { Engine } from '../../engine.js';
import { callOpenSearch, type OpenSearchAddress } from './api.js';
import { INDEX } from './documents.js';
import { OpenSearchEngine } from './engine.js';
import { parseIndexNames } from './replies.js';

/** Milliseconds for one call. */
const TIMEOUT_MS = 60_000;

/**
 * Fills a new index and has the name stand for it, at once; only then is the one before removed.
 * Until then, and if `fill` throws, what was there serves. From then on the name is an alias.
 */
export async function replaceIndex(
  address: OpenSearchAddress,
  fill: (engine: Engine) => Promise<void>,
): Promise<void> {
  const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) =>
    callOpenSearch(address, method, path, {
      ...(body && { body }),
      timeoutMs: TIMEOUT_MS,
      expected: method === 'GET' || method === 'DELETE' ? [404] : [],
    });
  const alias = address.index;
  const { generation } = await new OpenSearchEngine(address).stats();
  const index = `${alias}-${generation + 1}`;
  // What a replacement that was stopped left behind.
  await call('DELETE', `/${index}`);
  const mappings = { ...INDEX.mappings, _meta: { generation, nextOrder: 0 } };
  await call('PUT', `/${index}`, { ...INDEX, mappings });
  const engine = new OpenSearchEngine({ ...address, index });
  await fill(engine);
  await engine.commit();
  const before = await call('GET', `/${alias}`);
  const names = before.status === 404 ? [] : parseIndexNames(before.body);
  await call('POST', '/_aliases', {
    actions: [
      ...names.map((name) => ({ remove_index: { index: name } })),
      { add: { index, alias } },
    ],
  });
}
