import { sql, type Kysely } from 'kysely';
import type { Clock, Random } from '../../ground/domain/ports.js';
import { createAccount, SIGN_UP_CREDITS } from '../accounts/accounts.js';
import type { AccountTables } from '../credits/schema.js';
import type { Store } from '../../ground/store/store.js';
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
  /** Open invitations to an address, of whatever account. */
  invitationsTo(email: string): Promise<readonly InvitationToJoin[]>;
  /** `found`, unless the person has an invitation to accept first. */
  foundUnlessInvited(person: Founder): Promise<'founded' | 'not-needed'>;
  /**
   * Gives a person who is in no account one of their own, as its Admin. The free credits of a new
   * account come with the first that a person founds.
   */
  found(person: Founder): Promise<'founded' | 'not-needed'>;
}

/** An account that somebody may join. */
export interface InvitationToJoin {
  readonly id: string;
  readonly accountName: string;
  readonly role: Role;
}

interface Founder {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

export function openTeam(store: Store, clock: Clock, random: Random): Team {
  const nowText = () => new Date(clock.now()).toISOString();
  const newAccount = () => ({ id: random.uuid(), memberId: random.uuid(), at: clock.now() });

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
    invitationsTo: (email) =>
      store.read((db: Kysely<Tables>) => openInvitations(db, email, nowText()).execute()),
    foundUnlessInvited: (person) =>
      store.write(async (tx: Kysely<Tables>) => {
        const invited = await openInvitations(tx, person.email, nowText()).executeTakeFirst();
        return invited ? 'not-needed' : foundOnce(tx, person, newAccount());
      }),
    found: (person) => store.write((tx: Kysely<Tables>) => foundOnce(tx, person, newAccount())),
  };
}

function openInvitations(db: Kysely<Tables>, email: string, now: string) {
  return db
    .selectFrom('invitations as invitation')
    .innerJoin('accounts as account', 'account.id', 'invitation.organizationId')
    .select(['invitation.id', 'account.name as accountName', 'invitation.role'])
    .where('invitation.email', '=', email.toLowerCase())
    .where('invitation.status', '=', 'pending')
    .where('invitation.expiresAt', '>', now)
    .orderBy('invitation.createdAt', 'desc')
    .limit(INVITATIONS_SHOWN_MAX);
}

const INVITATIONS_SHOWN_MAX = 20;

interface NewPlace {
  readonly id: string;
  readonly memberId: string;
  readonly at: number;
}

/** The person's row is written first: of two requests at once, the second sees the first. */
async function foundOnce(
  tx: Kysely<Tables>,
  person: Founder,
  place: NewPlace,
): Promise<'founded' | 'not-needed'> {
  await tx
    .updateTable('people')
    .set({ name: sql.ref('name') })
    .where('id', '=', person.id)
    .execute();
  const { founded_at } = await tx
    .selectFrom('people')
    .select('founded_at')
    .where('id', '=', person.id)
    .executeTakeFirstOrThrow();
  const member = await tx
    .selectFrom('memberships')
    .select('id')
    .where('userId', '=', person.id)
    .executeTakeFirst();
  if (member) return 'not-needed';
  await foundAccount(tx, person, { ...place, credits: founded_at === null ? SIGN_UP_CREDITS : 0 });
  await tx
    .updateTable('people')
    .set({ founded_at: place.at })
    .where('id', '=', person.id)
    .execute();
  return 'founded';
}

async function foundAccount(
  tx: Kysely<Tables>,
  person: { id: string; name: string },
  { id, memberId, at, credits }: NewPlace & { credits: number },
): Promise<void> {
  const name = `${person.name.slice(0, 60)}’s account`;
  const createdAt = new Date(at).toISOString();
  await createAccount(tx, { id, name, plan: 'payg', credits, cause: 'sign-up' }, at);
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
