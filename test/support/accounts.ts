import type { Kysely } from 'kysely';
import { createAccount } from '../../gateway/customers/accounts/accounts.js';
import { ACCOUNT_MIGRATIONS, type AccountTables } from '../../gateway/customers/credits/schema.js';
import type { Plan } from '../../gateway/ground/domain/plan.js';
import type { Clock } from '../../gateway/ground/domain/ports.js';
import { unixMillis } from '../../gateway/ground/domain/units.js';
import type { Caller } from '../../gateway/customers/keys/caller.js';
import { KEY_MIGRATIONS } from '../../gateway/customers/keys/schema.js';
import { openStore } from '../../gateway/ground/store/open.js';
import type { Store } from '../../gateway/ground/store/store.js';
import { realClock, realRandom } from './ports.js';

/** A clock that stands until it is moved; its deferred tasks run as the real ones do. */
export function handClock(startMs = Date.UTC(2026, 10, 21)): Clock & { move(ms: number): void } {
  let elapsedMs = 0;
  return {
    ...realClock,
    now: () => unixMillis(startMs + elapsedMs),
    monotonicMs: () => elapsedMs,
    move: (ms) => {
      elapsedMs += ms;
    },
  };
}

/** Opens a database with the tables of accounts; in memory unless a location is given. */
export function openAccountStore(location = ':memory:'): Promise<Store> {
  return openStore(
    { location, migrations: [...KEY_MIGRATIONS, ...ACCOUNT_MIGRATIONS] },
    { clock: realClock, random: realRandom, onFailed: () => undefined },
  );
}

export async function givenAccount(
  store: Store,
  more: { id?: string; plan?: Plan; credits?: number } = {},
): Promise<string> {
  const { id = realRandom.uuid(), plan = 'payg', credits = 1000 } = more;
  await store.write((tx: Kysely<AccountTables>) =>
    createAccount(tx, { id, name: `Account ${id}`, plan, credits, cause: 'sign-up' }, Date.now()),
  );
  return id;
}

/** A caller as `authenticate` would describe it. */
export function callerOf(accountId: string, key: Partial<Caller['key']> = {}): Caller {
  return {
    account: { id: accountId, plan: 'payg', ratePerSecond: 20 },
    key: {
      id: `key of ${accountId}`,
      name: 'test',
      createdBy: null,
      ratePerSecond: null,
      monthlyBudget: null,
      expiresAt: null,
      ...key,
    },
  };
}
