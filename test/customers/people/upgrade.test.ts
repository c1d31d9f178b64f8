import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import { MIGRATIONS } from '../../../gateway/wiring/migrations.js';
import type { PeopleTables } from '../../../gateway/customers/people/schema.js';
import { ENGINES, engineOf } from '../../support/engines.js';
import { temporaryStore } from '../../support/stores.js';
import { openStore } from '../../../gateway/ground/store/open.js';
import { realClock, realRandom } from '../../support/ports.js';

const NEW = ['accounts-008-proven-people', 'oauth-003-sealed-secrets'];
const AT = '2026-01-02T03:04:05.000Z';

describe.each(ENGINES)('a database of an older version on %s', (name) => {
  const engine = engineOf(name);
  beforeAll(engine.start);
  afterAll(engine.stop);

  test('loses planted passwords, sessions and open secrets, and keeps people and accounts', async () => {
    const location = engine.location() === ':memory:' ? undefined : engine.location();
    const before = MIGRATIONS.filter((migration) => !NEW.includes(migration.name));
    const old = await temporaryStore(before, location);
    const yes = old.store.engine === 'sqlite' ? '1' : 'true';
    const no = old.store.engine === 'sqlite' ? '0' : 'false';
    const person = (id: string, isProven: string) =>
      `insert into people values ('${id}', '${id}', '${id}@x', ${isProven}, null, '${AT}', '${AT}')`;
    const member = (id: string, account: string, at: string) =>
      `insert into memberships values ('m-${id}', '${account}', '${id}', 'admin', '${at}')`;
    await old.store.write(async (tx) => {
      for (const statement of [
        person('founder', yes),
        person('joined', yes),
        person('planted', no),
        `insert into logins (id, "accountId", "providerId", "userId", password, "createdAt", "updatedAt")
          values ('l', 'planted', 'credential', 'planted', 'hash', '${AT}', '${AT}')`,
        `insert into accounts (id, name, plan, created_at) values ('a', 'A', 'payg', 1)`,
        `insert into organizations (id, name, slug, "createdAt") values ('a', 'A', 'a', '${AT}')`,
        member('founder', 'a', AT),
        member('joined', 'a', '2026-02-02T03:04:05.000Z'),
        `insert into sessions (id, "expiresAt", token, "createdAt", "updatedAt", "userId")
          values ('s', '${AT}', 'raw token', '${AT}', '${AT}', 'founder')`,
        `insert into service_secrets values ('session-cookies', 'open secret')`,
        `insert into oauth_records (model, id, payload, created_at)
          values ('Secrets', 'secrets', 'open secret', 1)`,
      ]) {
        await sql.raw(statement).execute(tx);
      }
    });

    const upgraded = await openStore(
      { location: old.location, migrations: MIGRATIONS },
      { clock: realClock, random: realRandom, onFailed: () => undefined },
    );
    const count = async (table: string) => {
      const { rows } = await upgraded.read((db) => sql.raw(`select * from ${table}`).execute(db));
      return rows.length;
    };
    const people = await upgraded.read((db: Kysely<PeopleTables>) =>
      db.selectFrom('people').select(['id', 'founded_at']).orderBy('id').execute(),
    );
    expect(people.map(({ id, founded_at }) => [id, founded_at])).toEqual([
      ['founder', 0n],
      ['joined', null],
    ]);
    for (const table of ['sessions', 'logins', 'service_secrets', 'oauth_records']) {
      expect([table, await count(table)]).toEqual([table, 0]);
    }
    expect(await count('memberships')).toBe(2);
    await upgraded.close();
    await old.discard();
  });
});
