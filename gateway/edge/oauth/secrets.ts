import { generateKeyPairSync } from 'node:crypto';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { Clock, Random } from '../../ground/domain/ports.js';
import type { Sealing } from '../../ground/store/sealing.js';
import type { Store } from '../../ground/store/store.js';
import type { OauthTables } from './schema.js';

const schema = z.object({
  cookieKey: z.string(),
  jwks: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }),
});

export type OauthSecrets = z.infer<typeof schema>;

const NAME = { model: 'Secrets', id: 'secrets' } as const;
const SEALED_FOR = 'oauth';

/**
 * The authorization server's own keys: made once for a database, the same in every process, and
 * sealed there.
 */
export async function oauthSecrets(
  store: Store,
  clock: Clock,
  random: Random,
  sealing: Sealing,
): Promise<OauthSecrets> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' };
  const made: OauthSecrets = {
    cookieKey: Buffer.from(random.bytes(32)).toString('base64url'),
    jwks: { keys: [key] },
  };
  const payload = await store.write(async (tx: Kysely<OauthTables>) => {
    await tx
      .insertInto('oauth_records')
      .values({
        ...NAME,
        payload: sealing.seal(SEALED_FOR, JSON.stringify(made)),
        created_at: clock.now(),
      })
      .onConflict((conflict) => conflict.columns(['model', 'id']).doNothing())
      .execute();
    const row = await tx
      .selectFrom('oauth_records')
      .select('payload')
      .where('model', '=', NAME.model)
      .where('id', '=', NAME.id)
      .executeTakeFirstOrThrow();
    return row.payload;
  });
  return schema.parse(JSON.parse(sealing.open(SEALED_FOR, payload)));
}

/** Deletes them, so that the next start draws new ones. */
export async function forgetOauthSecrets(store: Store): Promise<void> {
  await store.write((tx: Kysely<OauthTables>) =>
    tx.deleteFrom('oauth_records').where('model', '=', NAME.model).execute(),
  );
}

/** Seals them with the newest key. */
export async function resealOauthSecrets(store: Store, sealing: Sealing): Promise<void> {
  await store.write(async (tx: Kysely<OauthTables>) => {
    const row = await tx
      .selectFrom('oauth_records')
      .select('payload')
      .where('model', '=', NAME.model)
      .where('id', '=', NAME.id)
      .executeTakeFirst();
    if (!row) return;
    const payload = sealing.seal(SEALED_FOR, sealing.open(SEALED_FOR, row.payload));
    await tx
      .updateTable('oauth_records')
      .set({ payload })
      .where('model', '=', NAME.model)
      .where('id', '=', NAME.id)
      .execute();
  });
}
