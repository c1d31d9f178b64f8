import { sql, type Kysely } from 'kysely';
import type { Clock, Random } from '../../domain/ports.js';
import { createAccount, SIGN_UP_CREDITS } from '../accounts.js';
import type { AccountTables } from '../schema.js';
import type { Store } from '../../store/store.js';
import type { PeopleTables, Role } from './schema.js';

type Tables = AccountTables & PeopleTables;

export interface Member {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
}

export interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly expiresAt: Date;
}

/** A person's place in one account. */
export interface Membership {
  readonly accountId: string;
  readonly accountName: string;
  readonly role: Role;
}

export type TeamChange = 'changed' | 'not-found' | 'last-admin';

/** Who belongs to an account, and as what. There is an Admin at any time. */
export interface Team {
  /** The accounts of a person, oldest membership first. */
  memberships(userId: string): Promise<readonly Membership[]>;
  members(accountId: string): Promise<readonly Member[]>;
  /** Invitations that can still be accepted. */
  invitations(accountId: string): Promise<readonly Invitation[]>;
  /** `last-admin` when nobody else could manage the account afterwards. */
  changeRole(accountId: string, userId: string, role: Role): Promise<TeamChange>;
  /** Removes a member, or lets one leave. Ends nobody's session: the next request sees it. */
  remove(accountId: string, userId: string): Promise<TeamChange>;
  /**
   * Gives a person an account of their own, as its Admin, with the free credits of a new account;
   * none when the person has one or has an invitation to accept first.
   */
  found(person: { id: string; name: string; email: string }): Promise<'founded' | 'not-needed'>;
}

export function openTeam(store: Store, clock: Clock, random: Random): Team {
  const nowText = () => new Date(clock.now()).toISOString();

  return {
    async memberships(userId) {
      const rows = await store.read((db: Kysely<Tables>) =>
        db
          .selectFrom('memberships as member')
          .innerJoin('accounts as account', 'account.id', 'member.organizationId')
          .select(['account.id', 'account.name', 'member.role'])
          .where('member.userId', '=', userId)
          .orderBy('member.createdAt')
          .orderBy('account.id')
          .execute(),
      );
      return rows.map(({ id, name, role }) => ({ accountId: id, accountName: name, role }));
    },
    members: (accountId) =>
      store.read((db: Kysely<Tables>) =>
        db
          .selectFrom('memberships as member')
          .innerJoin('people as person', 'person.id', 'member.userId')
          .select(['member.userId', 'person.name', 'person.email', 'member.role'])
          .where('member.organizationId', '=', accountId)
          .orderBy('member.createdAt')
          .orderBy('member.userId')
          .execute(),
      ),
    async invitations(accountId) {
      const rows = await store.read((db: Kysely<Tables>) =>
        db
          .selectFrom('invitations')
          .select(['id', 'email', 'role', 'expiresAt'])
          .where('organizationId', '=', accountId)
          .where('status', '=', 'pending')
          .where('expiresAt', '>', nowText())
          .orderBy('email')
          .execute(),
      );
      return rows.map((row) => ({ ...row, expiresAt: new Date(row.expiresAt) }));
    },
    changeRole: (accountId, userId, role) =>
      store.write(async (tx: Kysely<Tables>) => {
        const change = await judge(tx, accountId, userId, role);
        if (change !== 'changed') return change;
        await tx
          .updateTable('memberships')
          .set({ role })
          .where('organizationId', '=', accountId)
          .where('userId', '=', userId)
          .execute();
        return change;
      }),
    remove: (accountId, userId) =>
      store.write(async (tx: Kysely<Tables>) => {
        const change = await judge(tx, accountId, userId, undefined);
        if (change !== 'changed') return change;
        await tx
          .deleteFrom('memberships')
          .where('organizationId', '=', accountId)
          .where('userId', '=', userId)
          .execute();
        return change;
      }),
    found: (person) =>
      store.write(async (tx: Kysely<Tables>) => {
        // Written first, so that two openings of one link meet here and the second sees the first.
        await tx
          .updateTable('people')
          .set({ name: sql.ref('name') })
          .where('id', '=', person.id)
          .execute();
        const place = await tx
          .selectFrom('memberships')
          .select('id')
          .where('userId', '=', person.id)
          .executeTakeFirst();
        const invited = await tx
          .selectFrom('invitations')
          .select('id')
          .where('email', '=', person.email)
          .where('status', '=', 'pending')
          .where('expiresAt', '>', nowText())
          .executeTakeFirst();
        if (place || invited) return 'not-needed';
        await foundAccount(tx, person, {
          id: random.uuid(),
          memberId: random.uuid(),
          at: clock.now(),
        });
        return 'founded';
      }),
  };
}

async function foundAccount(
  tx: Kysely<Tables>,
  person: { id: string; name: string },
  { id, memberId, at }: { id: string; memberId: string; at: number },
): Promise<void> {
  const name = `${person.name.slice(0, 60)}’s account`;
  const createdAt = new Date(at).toISOString();
  await createAccount(
    tx,
    { id, name, plan: 'payg', credits: SIGN_UP_CREDITS, cause: 'sign-up' },
    at,
  );
  await tx.insertInto('organizations').values({ id, name, slug: id, createdAt }).execute();
  await tx
    .insertInto('memberships')
    .values({ id: memberId, organizationId: id, userId: person.id, role: 'admin', createdAt })
    .execute();
}

/**
 * Whether a member may become `role`, or go. The organization's row is written first, so that two
 * Admins who leave at once meet there: on PostgreSQL the second runs again and sees the first.
 */
async function judge(
  tx: Kysely<Tables>,
  accountId: string,
  userId: string,
  role: Role | undefined,
): Promise<TeamChange> {
  await tx
    .updateTable('organizations')
    .set({ name: sql.ref('name') })
    .where('id', '=', accountId)
    .execute();
  const members = await tx
    .selectFrom('memberships')
    .select(['userId', 'role'])
    .where('organizationId', '=', accountId)
    .execute();
  const member = members.find((one) => one.userId === userId);
  if (!member) return 'not-found';
  if (member.role !== 'admin' || role === 'admin') return 'changed';
  const others = members.filter((one) => one.userId !== userId && one.role === 'admin');
  return others.length > 0 ? 'changed' : 'last-admin';
}
