import { hash } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock, Random } from '../../ground/domain/ports.js';
import type { Store } from '../../ground/store/store.js';
import type { PeopleTables } from './schema.js';

/** A sign-up whose address waits to be confirmed. */
export interface OpenSignUp {
  readonly email: string;
  readonly name: string;
  /** The invitation through which the person came, if they did. */
  readonly invitation: string | undefined;
}

/** Somebody who has shown that an e-mail address is theirs. */
export interface ProvenPerson {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

/**
 * Sign-ups until they are confirmed. Nobody exists before that: there is no person, no password and
 * no session that somebody else could have prepared. Whoever opens the mailed link reads the mail of
 * the address, and sets the password.
 */
export interface SignUps {
  /** Opens a sign-up in place of an earlier one; `known` where the address has a person already. */
  open(signUp: OpenSignUp): Promise<{ kind: 'opened'; token: string } | { kind: 'known' }>;
  /** The sign-up of a link that is still good. */
  find(token: string): Promise<OpenSignUp | undefined>;
  /** Makes the person, once for each link: of two uses, the second finds nothing. */
  confirm(
    token: string,
    chosen: { name: string | undefined; passwordHash: string },
  ): Promise<(ProvenPerson & Pick<OpenSignUp, 'invitation'>) | undefined>;
}

/** What to tell somebody whose link confirms nothing any more. */
export const DEAD_LINK =
  'This link has expired or was used. Sign in, or sign up again to get a new one.';

const LINK_MS = 3600 * 1000;
const TOKEN_BYTES = 32;

const hashOf = (token: string) => hash('sha256', token, 'base64url');

export function openSignUps(store: Store, clock: Clock, random: Random): SignUps {
  const matching = (db: Kysely<PeopleTables>, token: string) =>
    db
      .selectFrom('sign_ups')
      .select(['email', 'name', 'invitation_id'])
      .where('token_hash', '=', hashOf(token))
      .where('expires_at', '>', BigInt(clock.now()));

  return {
    open: ({ email, name, invitation }) =>
      store.write(async (tx: Kysely<PeopleTables>) => {
        if (await personOf(tx, email)) return { kind: 'known' };
        const token = Buffer.from(random.bytes(TOKEN_BYTES)).toString('base64url');
        const facts = {
          name,
          token_hash: hashOf(token),
          invitation_id: invitation ?? null,
          expires_at: clock.now() + LINK_MS,
        };
        await tx
          .insertInto('sign_ups')
          .values({ email, ...facts })
          .onConflict((conflict) => conflict.column('email').doUpdateSet(facts))
          .execute();
        return { kind: 'opened', token };
      }),
    async find(token) {
      const row = await store.read((db: Kysely<PeopleTables>) =>
        matching(db, token).executeTakeFirst(),
      );
      return row && { ...row, invitation: row.invitation_id ?? undefined };
    },
    confirm: (token, { name, passwordHash }) =>
      store.write(async (tx: Kysely<PeopleTables>) => {
        const row = await matching(tx, token).executeTakeFirst();
        if (!row) return undefined;
        await tx.deleteFrom('sign_ups').where('email', '=', row.email).execute();
        if (await personOf(tx, row.email)) return undefined;
        const person = { id: random.uuid(), name: name ?? row.name, email: row.email };
        const at = new Date(clock.now()).toISOString();
        await insertPerson(tx, store.engine, person, at);
        await tx
          .insertInto('logins')
          .values({
            id: random.uuid(),
            accountId: person.id,
            providerId: 'credential',
            userId: person.id,
            password: passwordHash,
            createdAt: at,
            updatedAt: at,
          })
          .execute();
        return { ...person, invitation: row.invitation_id ?? undefined };
      }),
  };
}

function personOf(tx: Kysely<PeopleTables>, email: string) {
  return tx.selectFrom('people').select('id').where('email', '=', email).executeTakeFirst();
}

async function insertPerson(
  tx: Kysely<PeopleTables>,
  engine: Store['engine'],
  person: ProvenPerson,
  at: string,
): Promise<void> {
  const emailVerified = engine === 'sqlite' ? 1 : true;
  const times = { createdAt: at, updatedAt: at };
  await tx
    .insertInto('people')
    .values({ ...person, emailVerified, ...times, founded_at: null })
    .execute();
}
