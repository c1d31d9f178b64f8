import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  behind,
  bestOf,
  type Definition,
  FakeIndex,
  type RangeBody,
  type SearchBody,
  type StatisticsBody,
} from './fake-opensearch-index.js';

/**
 * A stand-in for an OpenSearch server: the REST calls that the adapter makes, with what they mean
 * there (a bulk is not found before a refresh; a missing index is a 404). Anything else is a 400,
 * so that a call that the real server was never asked does not pass unseen.
 */
export async function startFakeOpenSearch(): Promise<{
  readonly url: string;
  /** Every call: method, path and Authorization header. */
  readonly calls: readonly { readonly line: string; readonly authorization: string | undefined }[];
  stop(): Promise<void>;
}> {
  const indexes = new Map<string, FakeIndex>();
  const calls: { line: string; authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    const line = `${request.method} ${request.url}`;
    calls.push({ line, authorization: request.headers.authorization });
    void bodyOf(request).then((text) => {
      const { status, body } = answer(indexes, request.method ?? '', request.url ?? '', text);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls, stop };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

interface Reply {
  readonly status: number;
  readonly body: object;
}

/** One shard, which is there. */
const HEALTH = {
  status: 'green',
  active_primary_shards: 1,
  active_shards: 1,
  unassigned_shards: 0,
  initializing_shards: 0,
};

/** Pages that match, or numbers of the whole index. */
function search(index: FakeIndex, body: SearchBody | StatisticsBody): object {
  const reply = { timed_out: false, _shards: { failed: 0 } };
  const total = { value: index.visible.length };
  if (body.size > 0) return { ...reply, hits: { hits: bestOf(index, body as SearchBody) } };
  return {
    ...reply,
    hits: { total, hits: [] },
    aggregations: index.statistics(body as StatisticsBody),
  };
}

const OK: Reply = { status: 200, body: { acknowledged: true } };

function answer(
  indexes: Map<string, FakeIndex>,
  method: string,
  target: string,
  text: string,
): Reply {
  const { pathname } = new URL(target, 'http://fake');
  const [, name = '', operation = ''] = pathname.split('/');
  const index = indexes.get(name);
  const json: unknown = text === '' || operation === '_bulk' ? undefined : JSON.parse(text);
  if (pathname === '/_aliases') {
    moveAliases(indexes, (json as { actions: AliasAction[] }).actions);
    return OK;
  }
  if (pathname.startsWith('/_cluster/health/')) return { status: 200, body: HEALTH };
  if (method === 'PUT' && operation === '') {
    if (index) return { status: 400, body: { error: 'resource_already_exists_exception' } };
    indexes.set(name, new FakeIndex(name, json as Definition));
    return OK;
  }
  if (!index) return { status: 404, body: { error: 'index_not_found_exception' } };
  switch (`${method} ${operation}`.trim()) {
    case 'GET':
      return { status: 200, body: { [index.name]: {} } };
    case 'DELETE':
      indexes.delete(name);
      return OK;
    case 'GET _mapping':
      return { status: 200, body: { [index.name]: { mappings: { _meta: index.meta } } } };
    case 'PUT _mapping':
      index.meta = (json as { _meta: object })._meta;
      return OK;
    case 'POST _bulk':
      return { status: 200, body: { errors: false, items: index.bulk(text) } };
    case 'POST _refresh':
      index.refresh();
      return OK;
    case 'POST _mget': {
      const { ids } = json as { readonly ids: readonly string[] };
      const docs = ids.map((_id) => ({ _id, found: index.has(_id) }));
      return { status: 200, body: { docs } };
    }
    case 'PUT _settings':
    case 'POST _flush':
      return OK;
    case 'POST _search':
      if ('range' in ((json as { query?: object }).query ?? {})) {
        return { status: 200, body: { hits: { hits: behind(index, json as RangeBody) } } };
      }
      return { status: 200, body: search(index, json as SearchBody | StatisticsBody) };
    default:
      return { status: 400, body: { error: `the stand-in does not know ${method} ${target}` } };
  }
}

type AliasAction =
  | { readonly remove_index: { readonly index: string }; readonly add?: never }
  | { readonly add: { readonly index: string; readonly alias: string } };

function moveAliases(indexes: Map<string, FakeIndex>, actions: readonly AliasAction[]): void {
  for (const action of actions) {
    if (action.add) {
      const index = indexes.get(action.add.index);
      if (index) indexes.set(action.add.alias, index);
      continue;
    }
    for (const [key, { name }] of indexes) {
      if (name === action.remove_index.index) indexes.delete(key);
    }
  }
}
