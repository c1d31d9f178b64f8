import { sql, type Kysely } from 'kysely';
import type { Clock } from '../../domain/ports.js';
import type { Store } from '../../store/store.js';

interface PrunedTables {
  people: { id: string; emailVerified: unknown; createdAt: string };
  sessions: { expiresAt: string };
  verifications: { expiresAt: string };
  wallet_claims: { expires_at: bigint };
}

/** How long a sign-up waits to be confirmed: whoever comes later signs up again. */
const UNCONFIRMED_KEPT_MS = 7 * 24 * 3600 * 1000;

/**
 * Deletes sessions and links whose time is over, and people who never confirmed their address: a
 * table that anybody can write to from outside does not grow for ever.
 */
export async function prunePeople(store: Store, clock: Clock): Promise<void> {
  const now = clock.now();
  const text = (at: number) => new Date(at).toISOString();
  const unconfirmed = store.engine === 'sqlite' ? sql`0` : sql`false`;
  await store.write(async (tx: Kysely<PrunedTables>) => {
    await tx.deleteFrom('sessions').where('expiresAt', '<', text(now)).execute();
    await tx.deleteFrom('verifications').where('expiresAt', '<', text(now)).execute();
    await tx.deleteFrom('wallet_claims').where('expires_at', '<', BigInt(now)).execute();
    await tx
      .deleteFrom('people')
      .where('emailVerified', '=', unconfirmed)
      .where('createdAt', '<', text(now - UNCONFIRMED_KEPT_MS))
      .execute();
  });
}
