import type { Kysely } from 'kysely';
import type { Clock, Random } from '../../ground/domain/ports.js';
import type { UnixMillis } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import { authenticator, type Authenticator } from './authenticate.js';
import { createKey, hashKey, last4, type ApiKey } from './format.js';
import type { KeyTables } from './schema.js';

/** What a person decides about a key. */
export interface KeyTerms {
  readonly name: string;
  readonly expiresAt?: UnixMillis;
  /** Credits in a calendar month (UTC). */
  readonly monthlyBudget?: number;
  /** Searches per second, beneath the account's own rate. */
  readonly ratePerSecond?: number;
}

/** A key as it is shown after its creation. Times are Unix milliseconds. */
export interface KeyView extends KeyTerms {
  readonly id: string;
  readonly last4: string;
  readonly createdBy?: string;
  readonly createdAt: number;
  readonly lastUsedAt?: number;
  readonly revokedAt?: number;
  readonly replacedBy?: string;
}

/** Whether a key works at `now`, and why not. */
export function keyState(
  { revokedAt, expiresAt }: Pick<KeyView, 'revokedAt' | 'expiresAt'>,
  now: number,
): 'live' | 'revoked' | 'expired' {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'live';
}

/** A new key: the only time at which `key` is known to anyone but its holder. */
export interface CreatedKey {
  readonly id: string;
  readonly key: ApiKey;
}

/** Keys: check them, make them, and take them back. */
export interface Keys extends Authenticator {
  create(accountId: string, createdBy: string | null, terms: KeyTerms): Promise<CreatedKey>;
  /** The keys of an account, newest first, revoked ones included. */
  list(accountId: string): Promise<readonly KeyView[]>;
  /**
   * Makes a key with the same terms that takes another's place. The old one goes on working until
   * `overlapMs` have passed (or its own expiry, if that is sooner), so that nothing fails while
   * its users change over.
   */
  rotate(
    accountId: string,
    keyId: string,
    createdBy: string | null,
    overlapMs: number,
  ): Promise<CreatedKey | 'not-found'>;
  /**
   * Changes what was decided about a key that works. One that is being replaced keeps its terms:
   * another expiry would outlive the change of keys.
   */
  edit(accountId: string, keyId: string, terms: KeyTerms): Promise<'changed' | 'not-found'>;
  /**
   * Ends a key for good. It is refused from the next request on in this process, and within
   * KEY_CACHE_MS in every other that shares the database.
   */
  revoke(accountId: string, keyId: string): Promise<'revoked' | 'not-found'>;
  /** Writes the times of last use to the database: called every few seconds, and at the end. */
  flushLastUses(): Promise<void>;
}

/** Writes a new key down inside the caller's transaction. */
export async function insertKey(
  tx: Kysely<KeyTables>,
  { id, key }: CreatedKey,
  of: { accountId: string; createdBy: string | null; terms: KeyTerms; now: number },
): Promise<void> {
  const { accountId, createdBy, terms, now } = of;
  await tx
    .insertInto('api_keys')
    .values({
      id,
      account_id: accountId,
      hash: hashKey(key),
      last4: last4(key),
      name: terms.name,
      created_by: createdBy,
      created_at: now,
      expires_at: terms.expiresAt ?? null,
      monthly_budget: terms.monthlyBudget ?? null,
      rate_per_second: terms.ratePerSecond ?? null,
    })
    .execute();
}

/** Keys of one account, revoked ones included: a bound on a table that people fill. */
export const KEYS_PER_ACCOUNT_MAX = 500;

export function openKeys(store: Store, clock: Clock, random: Random): Keys {
  const authenticating = authenticator(store, clock);

  const insert = async (
    db: Kysely<KeyTables>,
    accountId: string,
    createdBy: string | null,
    terms: KeyTerms,
  ): Promise<CreatedKey> => {
    const created = { id: random.uuid(), key: createKey(random) };
    await insertKey(db, created, { accountId, createdBy, terms, now: clock.now() });
    return created;
  };

  return {
    ...authenticating,
    create: (accountId, createdBy, terms) =>
      store.write((tx: Kysely<KeyTables>) => insert(tx, accountId, createdBy, terms)),
    async list(accountId) {
      const rows = await store.read((db: Kysely<KeyTables>) =>
        db
          .selectFrom('api_keys')
          .selectAll()
          .where('account_id', '=', accountId)
          .orderBy('created_at', 'desc')
          .orderBy('id')
          .limit(KEYS_PER_ACCOUNT_MAX)
          .execute(),
      );
      return rows.map(viewOf);
    },
    async rotate(accountId, keyId, createdBy, overlapMs) {
      const created = await store.write(async (tx: Kysely<KeyTables>) => {
        const old = await liveKey(tx, accountId, keyId);
        if (!old) return 'not-found' as const;
        const next = await insert(tx, accountId, createdBy, termsOf(old));
        const endsAt = Math.min(clock.now() + overlapMs, Number(old.expires_at ?? Infinity));
        await tx
          .updateTable('api_keys')
          .set({ expires_at: endsAt, replaced_by: next.id })
          .where('id', '=', keyId)
          .execute();
        return next;
      });
      authenticating.forget();
      return created;
    },
    async edit(accountId, keyId, terms) {
      const outcome = await store.write(async (tx: Kysely<KeyTables>) => {
        const changed = await tx
          .updateTable('api_keys')
          .set({
            name: terms.name,
            expires_at: terms.expiresAt ?? null,
            monthly_budget: terms.monthlyBudget ?? null,
            rate_per_second: terms.ratePerSecond ?? null,
          })
          .where('id', '=', keyId)
          .where('account_id', '=', accountId)
          .where('revoked_at', 'is', null)
          .where('replaced_by', 'is', null)
          .where((row) =>
            row.or([row('expires_at', 'is', null), row('expires_at', '>', BigInt(clock.now()))]),
          )
          .returning('id')
          .executeTakeFirst();
        return changed ? 'changed' : 'not-found';
      });
      authenticating.forget();
      return outcome;
    },
    async revoke(accountId, keyId) {
      const outcome = await store.write(async (tx: Kysely<KeyTables>) => {
        if (!(await liveKey(tx, accountId, keyId))) return 'not-found';
        await tx
          .updateTable('api_keys')
          .set({ revoked_at: clock.now() })
          .where('id', '=', keyId)
          .execute();
        return 'revoked';
      });
      authenticating.forget();
      return outcome;
    },
    async flushLastUses() {
      const uses = authenticating.takeLastUses();
      if (uses.size === 0) return;
      await store.write(async (tx: Kysely<KeyTables>) => {
        for (const [id, at] of uses) {
          await tx.updateTable('api_keys').set({ last_used_at: at }).where('id', '=', id).execute();
        }
      });
    },
  };
}

async function liveKey(db: Kysely<KeyTables>, accountId: string, keyId: string) {
  return db
    .selectFrom('api_keys')
    .selectAll()
    .where('id', '=', keyId)
    .where('account_id', '=', accountId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
}

type Row = NonNullable<Awaited<ReturnType<typeof liveKey>>>;

function termsOf(row: Row): KeyTerms {
  return {
    name: row.name,
    ...(row.monthly_budget !== null && { monthlyBudget: Number(row.monthly_budget) }),
    ...(row.rate_per_second !== null && { ratePerSecond: Number(row.rate_per_second) }),
  };
}

function viewOf(row: Row): KeyView {
  return {
    ...termsOf(row),
    id: row.id,
    last4: row.last4,
    createdAt: Number(row.created_at),
    ...(row.expires_at !== null && { expiresAt: Number(row.expires_at) as UnixMillis }),
    ...(row.created_by !== null && { createdBy: row.created_by }),
    ...(row.last_used_at !== null && { lastUsedAt: Number(row.last_used_at) }),
    ...(row.revoked_at !== null && { revokedAt: Number(row.revoked_at) }),
    ...(row.replaced_by !== null && { replacedBy: row.replaced_by }),
  };
}
