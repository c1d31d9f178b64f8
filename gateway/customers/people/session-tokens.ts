import { hash } from 'node:crypto';
import type { DBAdapter, DBTransactionAdapter, Where } from 'better-auth/types';

/** What is stored of a session's token: whoever reads the database cannot present it. */
const stored = (token: string): string => hash('sha256', token, 'base64url');

type Row = Record<string, unknown>;
type Adapter = DBAdapter | DBTransactionAdapter;

/**
 * Keeps only hashes of sessions' tokens in the database. The library stores and looks up the token
 * itself, so its adapter is wrapped: a token is hashed on its way in. On the way out, whoever asked
 * by a token gets that token back; whoever lists a person's sessions gets hashes, which open nothing.
 */
export function withHashedTokens<A extends Adapter>(adapter: A): A {
  const wrapped = { ...adapter, ...overrides(adapter) };
  if (!('transaction' in adapter)) return wrapped;
  const transaction: DBAdapter['transaction'] = (work) =>
    adapter.transaction((inner) => work(withHashedTokens(inner)));
  return { ...wrapped, transaction };
}

type Overrides = Pick<
  DBAdapter,
  | 'create'
  | 'findOne'
  | 'findMany'
  | 'count'
  | 'update'
  | 'updateMany'
  | 'delete'
  | 'deleteMany'
  | 'consumeOne'
>;

function overrides(adapter: Adapter): Overrides {
  const asked = <Q extends { model: string; where?: Where[] | undefined }>(query: Q): Q =>
    query.model === 'session' && query.where
      ? { ...query, where: query.where.map(hashedWhere) }
      : query;
  return {
    create: async (query) => {
      const { token } = query.data as Row;
      if (query.model !== 'session' || typeof token !== 'string') return adapter.create(query);
      const data = { ...query.data, token: stored(token) };
      return withToken(await adapter.create({ ...query, data }), tokensOf([token]));
    },
    findOne: async (query) => withToken(await adapter.findOne(asked(query)), namedIn(query)),
    findMany: async (query) => {
      const rows = await adapter.findMany(asked(query));
      return rows.map((row) => withToken(row, namedIn(query))) as never;
    },
    count: (query) => adapter.count(asked(query)),
    update: async (query) => withToken(await adapter.update(asked(query)), namedIn(query)),
    updateMany: (query) => adapter.updateMany(asked(query)),
    delete: (query) => adapter.delete(asked(query)),
    deleteMany: (query) => adapter.deleteMany(asked(query)),
    consumeOne: async (query) => withToken(await adapter.consumeOne(asked(query)), namedIn(query)),
  };
}

function hashedWhere(condition: Where): Where {
  const { field, value } = condition;
  if (field !== 'token') return condition;
  if (typeof value === 'string') return { ...condition, value: stored(value) };
  if (!Array.isArray(value)) throw new Error('a session is looked up by its token or by several');
  return { ...condition, value: value.map((one) => stored(String(one))) };
}

/** The tokens that a query names, by what is stored of them. */
function namedIn({ model, where = [] }: { model: string; where?: Where[] | undefined }) {
  if (model !== 'session') return tokensOf([]);
  const values = where.filter(({ field }) => field === 'token').flatMap(({ value }) => value);
  return tokensOf(values.map(String));
}

const tokensOf = (tokens: readonly string[]): ReadonlyMap<string, string> =>
  new Map(tokens.map((token) => [stored(token), token]));

function withToken<T>(row: T, tokens: ReadonlyMap<string, string>): T {
  const { token } = (row ?? {}) as Row;
  const known = typeof token === 'string' ? tokens.get(token) : undefined;
  return known === undefined ? row : { ...row, token: known };
}
