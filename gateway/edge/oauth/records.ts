import { hash } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { Clock } from '../../ground/domain/ports.js';
import type { Store } from '../../ground/store/store.js';
import { errors } from './oidc-provider.js';
import type { OauthTables } from './schema.js';

/** Models whose id is itself a credential: only its SHA-256 is stored. */
const CREDENTIALS = new Set(['AccessToken', 'RefreshToken', 'AuthorizationCode']);

/**
 * The authorization server keeps no sign-in of its own: the console's session is the one login, so
 * its sessions are not stored and every authorization asks the person again.
 */
const NOT_STORED = new Set(['Session']);

/** After a day, consents without a token are forgotten. */
const UNUSED_MS = 24 * 3_600_000;
/**
 * After an hour, as long as somebody may take to consent, clients that nobody consented to are
 * forgotten: anyone can register one.
 */
const CLIENT_UNUSED_MS = 3_600_000;

/**
 * How long a refresh token that was used goes on working (docs/decisions/refresh-grace.md). A second
 * use after that counts as theft and ends the connection.
 */
export const REFRESH_GRACE_MS = 10_000;

/** Keeps the authorization server's records in the project's database. */
export function recordAdapter(store: Store, clock: Clock): (model: string) => Adapter {
  return (model) => (NOT_STORED.has(model) ? NOTHING : adapterOf(model, store, clock));
}

const NOTHING: Adapter = {
  upsert: () => Promise.resolve(),
  find: () => Promise.resolve(undefined),
  findByUid: () => Promise.resolve(undefined),
  findByUserCode: () => Promise.resolve(undefined),
  consume: () => Promise.resolve(),
  destroy: () => Promise.resolve(),
  revokeByGrantId: () => Promise.resolve(),
};

function adapterOf(model: string, store: Store, clock: Clock): Adapter {
  const keyOf = (id: string) => (CREDENTIALS.has(model) ? hash('sha256', id, 'hex') : id);
  const graceMs = model === 'RefreshToken' ? REFRESH_GRACE_MS : 0;
  const select = (db: Kysely<OauthTables>) =>
    db
      .selectFrom('oauth_records')
      .select(['id', 'payload', 'consumed_at'])
      .where('model', '=', model);

  return {
    async upsert(id, payload, expiresIn) {
      const now = clock.now();
      const facts = {
        payload: JSON.stringify({ ...payload, jti: undefined }),
        grant_id: model === 'Grant' ? id : (payload.grantId ?? null),
        client_id: model === 'Client' ? id : (payload.clientId ?? null),
        uid: payload.uid ?? null,
        // Registered clients and the like come without a time.
        expires_at: expiresIn === undefined ? null : now + expiresIn * 1000,
      };
      await store.write((tx: Kysely<OauthTables>) =>
        tx
          .insertInto('oauth_records')
          .values({ model, id: keyOf(id), created_at: now, consumed_at: null, ...facts })
          .onConflict((conflict) => conflict.columns(['model', 'id']).doUpdateSet(facts))
          .execute(),
      );
    },
    async find(id) {
      const row = await store.read((db: Kysely<OauthTables>) =>
        select(db).where('id', '=', keyOf(id)).executeTakeFirst(),
      );
      return row && payloadOf(row, id, clock.now() - graceMs);
    },
    async findByUid(uid) {
      const row = await store.read((db: Kysely<OauthTables>) =>
        select(db).where('uid', '=', uid).executeTakeFirst(),
      );
      return row && payloadOf(row, row.id, clock.now());
    },
    findByUserCode: () => Promise.resolve(undefined),
    async consume(id) {
      const consumed = await store.write((tx: Kysely<OauthTables>) =>
        tx
          .updateTable('oauth_records')
          .set({ consumed_at: clock.now() })
          .where('model', '=', model)
          .where('id', '=', keyOf(id))
          .where('consumed_at', 'is', null)
          .returning('id')
          .execute(),
      );
      // Of all concurrent uses of one code, exactly one goes on. A refresh token within its grace
      // was let through by `find`; its first use, from which the grace counts, stays.
      if (consumed.length === 0 && model !== 'RefreshToken') {
        throw new errors.InvalidGrant('it was used before');
      }
    },
    async destroy(id) {
      await store.write((tx: Kysely<OauthTables>) =>
        tx
          .deleteFrom('oauth_records')
          .where('model', '=', model)
          .where('id', '=', keyOf(id))
          .execute(),
      );
    },
    async revokeByGrantId(grantId) {
      await store.write((tx: Kysely<OauthTables>) =>
        tx
          .deleteFrom('oauth_records')
          .where('model', '=', model)
          .where('grant_id', '=', grantId)
          .execute(),
      );
    },
  };
}

/** A record as it was stored; it counts as used when that was at `usedUntilMs` or before. */
function payloadOf(
  row: { payload: string; consumed_at: bigint | number | null },
  id: string,
  usedUntilMs: number,
): AdapterPayload {
  const payload = JSON.parse(row.payload) as AdapterPayload;
  const isUsed = row.consumed_at !== null && Number(row.consumed_at) <= usedUntilMs;
  return { ...payload, jti: id, ...(isUsed && { consumed: true }) };
}

/**
 * Removes what has lapsed, consents that nothing is left of, and registered clients that nobody
 * uses. Called now and then.
 */
export async function sweepRecords(store: Store, clock: Clock): Promise<void> {
  const now = clock.now();
  const unused = BigInt(now - UNUSED_MS);
  await store.write(async (tx: Kysely<OauthTables>) => {
    await tx.deleteFrom('oauth_records').where('expires_at', '<', BigInt(now)).execute();
    const issued = tx
      .selectFrom('oauth_records')
      .select('grant_id')
      .where('model', '!=', 'Grant')
      .where('grant_id', 'is not', null);
    await tx
      .deleteFrom('oauth_records')
      .where('model', '=', 'Grant')
      .where('created_at', '<', unused)
      .where('id', 'not in', issued)
      .execute();
    await tx
      .deleteFrom('oauth_connections')
      .where('created_at', '<', unused)
      .where('grant_id', 'not in', issued)
      .execute();
    const granted = tx
      .selectFrom('oauth_records')
      .select('client_id')
      .where('model', '=', 'Grant')
      .where('client_id', 'is not', null);
    await tx
      .deleteFrom('oauth_records')
      .where('model', '=', 'Client')
      .where('created_at', '<', BigInt(now - CLIENT_UNUSED_MS))
      .where('id', 'not in', granted)
      .execute();
  });
}
