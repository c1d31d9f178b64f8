/** The sealing key is replaced, and nobody has to sign in again. */
import type { Kysely } from 'kysely';
import { expect, test } from '@jest/globals';
import { oauthSecrets } from '../../gateway/edge/oauth/secrets.js';
import { sealName } from '../../gateway/customers/packs/sealed-keys.js';
import type { PackTables } from '../../gateway/customers/packs/schema.js';
import { sealingWith } from '../../gateway/ground/store/sealing.js';
import { resealSecrets } from '../../gateway/wiring/database-secrets.js';
import { MIGRATIONS } from '../../gateway/wiring/migrations.js';
import { realClock, realRandom } from '../support/ports.js';
import { temporaryStore } from '../support/stores.js';

const [OLD, NEW] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
const [old, both, fresh] = [
  sealingWith([OLD], realRandom),
  sealingWith([NEW, OLD], realRandom),
  sealingWith([NEW], realRandom),
];

interface Tables extends PackTables {
  service_secrets: { name: string; value: string };
}

/** More than go in one transaction. */
const PACKS = 450;

test('what was sealed with the old key opens with the new one alone once it was sealed again', async () => {
  const { store, discard } = await temporaryStore(MIGRATIONS);
  const before = await oauthSecrets(store, realClock, realRandom, old);
  const text = { chain_id: 1, asset: 'a', payer: 'p', nonce: 'n', ticket_hash: 't' };
  await store.write(async (tx: Kysely<Tables>) => {
    const value = old.seal('session-cookies', 'cookies');
    await tx.insertInto('service_secrets').values({ name: 'session-cookies', value }).execute();
    for (let at = 0; at < PACKS; at++) {
      const id = `request-${at}`;
      const facts = { account_id: id, key_id: id, searches: 1, amount: 1, ...text };
      const sealed_key = at === 7 ? null : old.seal(sealName(id), id);
      const times = { created_at: 1, expires_at: 2 };
      const row = { request_id: id, sealed_key, ...facts, ...times };
      await tx.insertInto('packs').values(row).execute();
    }
  });

  await resealSecrets(store, both);
  await resealSecrets(store, both);

  expect(await oauthSecrets(store, realClock, realRandom, fresh)).toEqual(before);
  const rows = await store.read((db: Kysely<Tables>) =>
    db.selectFrom('packs').select(['request_id', 'sealed_key']).execute(),
  );
  const keys = rows.map(({ request_id: id, sealed_key: sealed }) =>
    sealed === null ? null : fresh.open(sealName(id), sealed) === id,
  );
  expect(keys.filter((isOpen) => isOpen === true)).toHaveLength(PACKS - 1);
  const [cookies] = await store.read((db: Kysely<Tables>) =>
    db.selectFrom('service_secrets').selectAll().execute(),
  );
  expect(fresh.open('session-cookies', cookies?.value ?? '')).toBe('cookies');
  await discard();
});
