import { generateKeyPairSync } from 'node:crypto';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { Clock, Random } from '../domain/ports.js';
import type { Store } from '../store/store.js';
import type { OauthTables } from './schema.js';

const schema = z.object({
  cookieKey: z.string(),
  jwks: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }),
});

export type OauthSecrets = z.infer<typeof schema>;

const NAME = { model: 'Secrets', id: 'secrets' } as const;

/** The authorization server's own keys: made once for a database, the same in every process. */
export async function oauthSecrets(
  store: Store,
  clock: Clock,
  random: Random,
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
      .values({ ...NAME, payload: JSON.stringify(made), created_at: clock.now() })
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
  return schema.parse(JSON.parse(payload));
}
