import type { Kysely } from 'kysely';
import type { Sealing } from '../../ground/store/sealing.js';
import type { Store } from '../../ground/store/store.js';
import type { PackTables } from './schema.js';

type Db = Kysely<PackTables>;

/** Packs of one transaction. */
const ROWS_MAX = 200;

/** What the key of a pack is sealed for. */
export const sealName = (requestId: string) => `pack:${requestId}`;

/**
 * Forgets the sealed keys of all packs: keys go on working, and are handed out again no more. A pack
 * that nobody has opened yet gets another key.
 */
export function forgetPackKeys(store: Store): Promise<unknown> {
  return store.write((tx: Db) => tx.updateTable('packs').set({ sealed_key: null }).execute());
}

/** Seals the keys of packs with the newest key, page by page: gateways may run meanwhile. */
export async function resealPackKeys(store: Store, sealing: Sealing): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined;) {
    const from: string = after;
    after = await store.write(async (tx: Db) => {
      const rows = await tx
        .selectFrom('packs')
        .select(['request_id as id', 'sealed_key as sealed'])
        .where('sealed_key', 'is not', null)
        .where('request_id', '>', from)
        .orderBy('request_id')
        .limit(ROWS_MAX)
        .execute();
      for (const { id, sealed } of rows) {
        if (sealed === null) continue;
        const sealed_key = sealing.seal(sealName(id), sealing.open(sealName(id), sealed));
        await tx.updateTable('packs').set({ sealed_key }).where('request_id', '=', id).execute();
      }
      return rows.at(-1)?.id;
    });
  }
}
