import type { Kysely } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import type { Store } from '../../ground/store/store.js';
import type { AccountTables } from './schema.js';

/** One try of one search under its account's `Idempotency-Key`. */
export interface IdempotentTry {
  readonly accountId: string;
  readonly key: string;
  /** Hash of the request: another request under the same key is refused. */
  readonly binding: string;
  /** Names this try; only the one that holds the claim may keep a reply. */
  readonly requestId: string;
}

/** What a claim finds. Of all who claim one key at once, over all gateways, one has `claimed`. */
export type Claim =
  | { readonly kind: 'claimed' }
  /** Another try holds the claim: ask again, or wait. */
  | { readonly kind: 'running' }
  /** The key was used for another request. */
  | { readonly kind: 'reused' }
  | ({ readonly kind: 'kept'; readonly requestId: string } & KeptReply);

/** A reply as it is kept. */
export interface KeptReply {
  readonly body: Uint8Array;
  /** The generation of the index that was searched, where it is known. */
  readonly generation?: number;
}

/** The replies to searches that came with an `Idempotency-Key`, by account and key. */
export interface IdempotentReplies {
  claim(attempt: IdempotentTry): Promise<Claim>;
  /** Stores the reply; `lost` when the claim had lapsed and another try took it over. */
  keep(attempt: IdempotentTry, reply: KeptReply): Promise<'kept' | 'lost'>;
  /** Gives the key back: the search failed, or was not answered. */
  release(attempt: IdempotentTry): Promise<void>;
  /** Drops what is a day old, and the oldest of what is too much. Returns how many went. */
  prune(): Promise<number>;
}

export interface ReplyLimits {
  /** Milliseconds after which a claim without a reply may be taken over: its process died. */
  readonly claimMs: number;
  readonly keptMs: number;
  readonly perAccountMax: number;
  readonly bytesPerAccountMax: number;
  /** Bytes of all accounts together. */
  readonly bytesMax: number;
}

export const REPLY_LIMITS: Omit<ReplyLimits, 'bytesMax'> = {
  claimMs: 20_000,
  keptMs: 86_400_000,
  perAccountMax: 20_000,
  bytesPerAccountMax: 64 * 1024 * 1024,
};

/** Rows of one transaction of the pruning, so that it never holds searches up. */
const ROWS_MAX = 500;

type Db = Kysely<AccountTables>;

export function openIdempotentReplies(
  store: Store,
  clock: Pick<Clock, 'now'>,
  limits: ReplyLimits,
): IdempotentReplies {
  /** Accounts that have stored something since the last look: only they can be over their limit. */
  let touched = new Set<string>();

  const mine = (db: Db, { accountId, key, requestId }: IdempotentTry) =>
    db
      .updateTable('idempotent_replies')
      .where('account_id', '=', accountId)
      .where('idempotency_key', '=', key)
      .where('request_id', '=', requestId)
      .where('reply_body', 'is', null);

  return {
    claim: (attempt) => store.write((tx: Db) => claim(tx, attempt, clock.now(), limits)),
    keep: async (attempt, { body, generation }) => {
      const kept = await store.write((tx: Db) =>
        mine(tx, attempt)
          .set({
            reply_body: body,
            reply_bytes: body.length,
            reply_generation: generation ?? null,
            created_at: clock.now(),
          })
          .returning('request_id')
          .execute(),
      );
      touched.add(attempt.accountId);
      return kept.length === 1 ? 'kept' : 'lost';
    },
    release: async ({ accountId, key, requestId }) => {
      await store.write((tx: Db) =>
        tx
          .deleteFrom('idempotent_replies')
          .where('account_id', '=', accountId)
          .where('idempotency_key', '=', key)
          .where('request_id', '=', requestId)
          .execute(),
      );
    },
    prune: async () => {
      const accounts = touched;
      touched = new Set();
      let gone = await dropAll(store, (tx) => old(tx, clock.now() - limits.keptMs));
      for (const accountId of accounts) {
        gone += await dropAll(store, (tx) => beyondAccount(tx, accountId, limits));
      }
      return gone + (await dropAll(store, (tx) => beyondTotal(tx, limits.bytesMax)));
    },
  };
}

async function claim(
  tx: Db,
  { accountId, key, binding, requestId }: IdempotentTry,
  now: number,
  { claimMs, keptMs }: ReplyLimits,
): Promise<Claim> {
  const fresh = { binding, request_id: requestId, lapses_at: now + claimMs, created_at: now };
  const inserted = await tx
    .insertInto('idempotent_replies')
    .values({ account_id: accountId, idempotency_key: key, reply_bytes: 0, ...fresh })
    .onConflict((conflict) => conflict.doNothing())
    .returning('request_id')
    .execute();
  if (inserted.length === 1) return { kind: 'claimed' };
  const row = await tx
    .selectFrom('idempotent_replies')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('idempotency_key', '=', key)
    .executeTakeFirst();
  // It was given back since the insert: the caller asks again.
  if (!row) return { kind: 'running' };
  const isOver = row.reply_body
    ? Number(row.created_at) + keptMs <= now
    : Number(row.lapses_at) <= now;
  if (isOver) {
    const taken = await tx
      .updateTable('idempotent_replies')
      .set({ ...fresh, reply_body: null, reply_bytes: 0, reply_generation: null })
      .where('account_id', '=', accountId)
      .where('idempotency_key', '=', key)
      .where('request_id', '=', row.request_id)
      .returning('request_id')
      .execute();
    return { kind: taken.length === 1 ? 'claimed' : 'running' };
  }
  if (row.binding !== binding) return { kind: 'reused' };
  if (!row.reply_body) return { kind: 'running' };
  const found = row.reply_generation !== null && { generation: Number(row.reply_generation) };
  return { kind: 'kept', requestId: row.request_id, body: row.reply_body, ...found };
}

interface Name {
  readonly account_id: string;
  readonly idempotency_key: string;
}

const NAME = ['account_id', 'idempotency_key'] as const;

/** Replies that are too old, the oldest first. */
function old(tx: Db, before: number): Promise<readonly Name[]> {
  return tx
    .selectFrom('idempotent_replies')
    .select(NAME)
    .where('created_at', '<', BigInt(Math.max(before, 0)))
    .orderBy('created_at')
    .limit(ROWS_MAX)
    .execute();
}

/** The oldest replies of an account that is over its limit. */
async function beyondAccount(
  tx: Db,
  accountId: string,
  { perAccountMax, bytesPerAccountMax }: ReplyLimits,
): Promise<readonly Name[]> {
  const kept = tx.selectFrom('idempotent_replies').where('account_id', '=', accountId);
  const sums = await kept
    .select(({ fn }) => [
      fn.countAll<bigint>().as('rows'),
      fn.sum<bigint | string | null>('reply_bytes').as('bytes'),
    ])
    .executeTakeFirstOrThrow();
  const excess = {
    rows: Number(sums.rows) - perAccountMax,
    bytes: Number(sums.bytes ?? 0) - bytesPerAccountMax,
  };
  if (excess.rows <= 0 && excess.bytes <= 0) return [];
  const oldest = await kept
    .select([...NAME, 'reply_bytes'])
    .where('reply_body', 'is not', null)
    .orderBy('created_at')
    .limit(ROWS_MAX)
    .execute();
  return firstUntil(oldest, excess);
}

/** The oldest replies of all, while they are too many bytes together. */
async function beyondTotal(tx: Db, bytesMax: number): Promise<readonly Name[]> {
  const { bytes } = await tx
    .selectFrom('idempotent_replies')
    .select(({ fn }) => fn.sum<bigint | string | null>('reply_bytes').as('bytes'))
    .executeTakeFirstOrThrow();
  const excess = { rows: 0, bytes: Number(bytes ?? 0) - bytesMax };
  if (excess.bytes <= 0) return [];
  const oldest = await tx
    .selectFrom('idempotent_replies')
    .select([...NAME, 'reply_bytes'])
    .where('reply_body', 'is not', null)
    .orderBy('created_at')
    .limit(ROWS_MAX)
    .execute();
  return firstUntil(oldest, excess);
}

/** As many of the rows, from the first on, as take an excess away. */
function firstUntil(
  rows: readonly (Name & { readonly reply_bytes: bigint })[],
  excess: { readonly rows: number; readonly bytes: number },
): readonly Name[] {
  let { rows: rowsLeft, bytes: bytesLeft } = excess;
  return rows.filter((row) => {
    const isNeeded = rowsLeft > 0 || bytesLeft > 0;
    rowsLeft -= 1;
    bytesLeft -= Number(row.reply_bytes);
    return isNeeded;
  });
}

/** Drops what `find` finds, a few rows at a time, until it finds nothing more. */
async function dropAll(store: Store, find: (tx: Db) => Promise<readonly Name[]>): Promise<number> {
  let gone = 0;
  for (;;) {
    const dropped = await store.write(async (tx: Db) => {
      const names = await find(tx);
      for (const { account_id: accountId, idempotency_key: key } of names) {
        await tx
          .deleteFrom('idempotent_replies')
          .where('account_id', '=', accountId)
          .where('idempotency_key', '=', key)
          .execute();
      }
      return names.length;
    });
    gone += dropped;
    if (dropped === 0) return gone;
  }
}
