import type { Kysely } from 'kysely';
import type { Plan } from '../../ground/domain/plan.js';
import type { Clock, Random } from '../../ground/domain/ports.js';
import { hashKey, last4, createKey, type ApiKey } from '../keys/format.js';
import type { Store } from '../../ground/store/store.js';
import { grantCredits, type GrantCause } from '../credits/credits.js';
import type { AccountTables } from '../credits/schema.js';

/** Credits that a new account has at sign-up (service specification, Commercial facts). */
export const SIGN_UP_CREDITS = 1000;

interface NewAccount {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  readonly credits: number;
  readonly cause: GrantCause;
  /** People unless said otherwise. */
  readonly holder?: 'people' | 'wallet';
}

/** Creates an account with its first credits, inside the caller's transaction. */
export async function createAccount(
  tx: Kysely<AccountTables>,
  { id, name, plan, credits, cause, holder = 'people' }: NewAccount,
  now: number,
): Promise<void> {
  await tx
    .insertInto('accounts')
    .values({ id, name, plan, suspended_reason: null, created_at: now, holder })
    .execute();
  if (credits === 0) {
    const nothing = { granted: 0, available: 0, held: 0, spent: 0 };
    await tx
      .insertInto('credit_balances')
      .values({ account_id: id, ...nothing })
      .execute();
    return;
  }
  await grantCredits(tx, {
    accountId: id,
    amount: credits,
    cause,
    reference: `${cause}:${id}`,
    now,
  });
}

/** What the development start gives its sample account: more than anyone searches by hand. */
const DEV_ACCOUNT = {
  id: 'development',
  name: 'Sample account',
  plan: 'pro',
  credits: 1_000_000,
  cause: 'development',
} as const satisfies NewAccount;

/**
 * Makes the development start's sample account, once for each installation. Its key is not kept
 * here, so the caller passes the one that it has stored (in `data/dev.json`) back in; without one,
 * or when the database does not know it, a new key is made and the old ones are revoked.
 *
 * @param remembered the key of an earlier start.
 */
export async function seedDevAccount(
  store: Store,
  { clock, random, remembered }: { clock: Clock; random: Random; remembered?: string },
): Promise<ApiKey> {
  return store.write(async (tx: Kysely<AccountTables>) => {
    const now = clock.now();
    const known = await tx
      .selectFrom('accounts')
      .select('id')
      .where('id', '=', DEV_ACCOUNT.id)
      .executeTakeFirst();
    if (!known) await createAccount(tx, DEV_ACCOUNT, now);
    if (remembered !== undefined) {
      const row = await tx
        .selectFrom('api_keys')
        .select('id')
        .where('hash', '=', hashKey(remembered as ApiKey))
        .where('revoked_at', 'is', null)
        .executeTakeFirst();
      if (row) return remembered as ApiKey;
    }
    await tx
      .updateTable('api_keys')
      .set({ revoked_at: now })
      .where('account_id', '=', DEV_ACCOUNT.id)
      .where('name', '=', DEV_KEY_NAME)
      .where('revoked_at', 'is', null)
      .execute();
    const key = createKey(random);
    await tx
      .insertInto('api_keys')
      .values({
        id: random.uuid(),
        account_id: DEV_ACCOUNT.id,
        hash: hashKey(key),
        last4: last4(key),
        name: DEV_KEY_NAME,
        created_by: null,
        created_at: now,
      })
      .execute();
    return key;
  });
}

const DEV_KEY_NAME = 'development key';
