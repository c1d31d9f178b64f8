import type { Kysely } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import type { Sealing } from '../../ground/store/sealing.js';
import type { Store } from '../../ground/store/store.js';

interface PrunedTables {
  sessions: { expiresAt: string };
  verifications: { expiresAt: string };
  wallet_claims: { expires_at: bigint };
  service_secrets: { name: string; value: string };
  sign_ups: { expires_at: bigint };
  mail_allowances: { full_at: bigint };
}

/**
 * Deletes sessions, links and sign-ups whose time is over: a table that anybody can write to from
 * outside does not grow for ever.
 */
export async function prunePeople(store: Store, clock: Clock): Promise<void> {
  const now = clock.now();
  const text = (at: number) => new Date(at).toISOString();
  await store.write(async (tx: Kysely<PrunedTables>) => {
    await tx.deleteFrom('sessions').where('expiresAt', '<', text(now)).execute();
    await tx.deleteFrom('verifications').where('expiresAt', '<', text(now)).execute();
    await tx.deleteFrom('wallet_claims').where('expires_at', '<', BigInt(now)).execute();
    await tx.deleteFrom('sign_ups').where('expires_at', '<', BigInt(now)).execute();
    await tx.deleteFrom('mail_allowances').where('full_at', '<', BigInt(now)).execute();
  });
}

/** Deletes the secret that signs session cookies, and every session under it. */
export async function forgetSessions(store: Store): Promise<void> {
  await store.write(async (tx: Kysely<PrunedTables>) => {
    await tx.deleteFrom('sessions').execute();
    await tx.deleteFrom('service_secrets').execute();
  });
}

/** Seals the secret that signs session cookies with the newest key. */
export async function resealSessions(store: Store, sealing: Sealing): Promise<void> {
  await store.write(async (tx: Kysely<PrunedTables>) => {
    const rows = await tx.selectFrom('service_secrets').selectAll().execute();
    for (const { name, value } of rows) {
      const sealed = sealing.seal(name, sealing.open(name, value));
      await tx
        .updateTable('service_secrets')
        .set({ value: sealed })
        .where('name', '=', name)
        .execute();
    }
  });
}
