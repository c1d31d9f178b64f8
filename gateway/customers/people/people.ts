import { APIError } from 'better-auth/api';
import type { Kysely } from 'kysely';
import type { Log } from '../../ground/domain/ports.js';
import type { Store } from '../../ground/store/store.js';
import { addressName } from '../limits/address.js';
import { z } from 'zod';
import { ADDRESS_HEADER, openAuth, type AuthParts } from './auth.js';
import * as letters from './letters.js';
import { openMailAllowances, type MailKind } from './mail-allowance.js';
import { passwordFault, PASSWORD_LENGTH } from './passwords.js';
import type { PeopleTables, Role } from './schema.js';
import { DEAD_LINK, openSignUps, type OpenSignUp } from './sign-up.js';
import type { Team } from './team.js';
import { removeWallets } from './wallets.js';

/** What a browser's request says about who sends it. */
export interface Visitor {
  readonly cookie: string | undefined;
  readonly userAgent: string | undefined;
  readonly address: string;
}

/** A signed-in person. */
export interface Session {
  readonly sessionId: string;
  readonly person: { readonly id: string; readonly name: string; readonly email: string };
  /** The account that was chosen last; the person may have left it since. */
  readonly activeAccountId: string | undefined;
}

interface SessionView {
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly address: string | undefined;
  readonly userAgent: string | undefined;
  readonly isThis: boolean;
}

/** Done, with the cookies to set; or a sentence for the person. */
export type Outcome =
  | { readonly kind: 'done'; readonly cookies: readonly string[] }
  | { readonly kind: 'no'; readonly message: string };

/**
 * Sign-up, sign-in and what goes with it. What is answered, and how long it takes, is the same
 * whether or not an e-mail address has an account.
 */
export interface People {
  /** Sends a mail to the address: to confirm it, or to say that it has an account already. */
  signUp(
    person: { name: string; email: string; invitation?: string },
    visitor: Visitor,
  ): Promise<Outcome>;
  /** Whose address the link of a mail confirms; nothing when it was used or is too old. */
  openSignUp(token: string): Promise<OpenSignUp | undefined>;
  /**
   * Confirms an address by the token of the mail, sets the password, and signs the person in. Gives
   * an account of their own to whoever has no invitation to accept first.
   */
  verify(
    token: string,
    chosen: { name?: string; password: string },
    visitor: Visitor,
  ): Promise<Outcome & { readonly invitation?: string }>;
  signIn(email: string, password: string, visitor: Visitor): Promise<Outcome>;
  /** Signs in a person who has shown who they are otherwise, by a wallet's signature. */
  enter(personId: string, visitor: Visitor): Promise<Outcome>;
  signOut(visitor: Visitor): Promise<Outcome>;
  /** Sends a mail with a link, if the address has an account. */
  forgot(email: string, visitor: Visitor): Promise<Outcome>;
  /** Sets a new password by the token of the mail; ends all sessions, takes off all wallets. */
  reset(token: string, password: string, visitor: Visitor): Promise<Outcome>;
  session(visitor: Visitor): Promise<Session | undefined>;
  sessions(visitor: Visitor): Promise<readonly SessionView[]>;
  /** Ends one of the person's own sessions; another person's is not found. */
  endSession(id: string, visitor: Visitor): Promise<Outcome>;
  invite(accountId: string, email: string, role: Role, visitor: Visitor): Promise<Outcome>;
  /** Takes an invitation back, so that its link is of no use any more. */
  uninvite(invitationId: string, visitor: Visitor): Promise<Outcome>;
  accept(invitationId: string, visitor: Visitor): Promise<Outcome>;
}

export async function openPeople(
  parts: Omit<AuthParts, 'onPasswordReset'> & { readonly team: Team },
): Promise<People> {
  const { team, log, store, clock, random, mailer, publicUrl } = parts;
  const auth = await openAuth({
    ...parts,
    onPasswordReset: async (personId) => {
      await removeWallets(store, personId);
    },
  });
  const { api } = auth;
  const signUps = openSignUps(store, clock, random);
  const allowances = openMailAllowances(store, clock);
  const attempt = (work: () => Promise<{ headers: Headers }>) => outcomeOf(work, log);

  /** Does what sends a mail, unless the recipient got too many of its kind. */
  const mailing = async (
    mail: { kind: MailKind; to: string; sender: string },
    work: () => Promise<Outcome>,
  ): Promise<Outcome> => {
    if (!isEmail(mail.to)) return no('This isn’t a valid email address.');
    const waitMs = await allowances.take(mail.kind, mail.to, mail.sender);
    return waitMs === 0 ? work() : no(tooManyMails(waitMs));
  };
  const enter = (personId: string, visitor: Visitor) =>
    attempt(() =>
      api.openSession({
        body: { personId },
        headers: headersOf(visitor),
        returnHeaders: true,
      }),
    );

  return {
    signUp: ({ name, invitation, ...person }, visitor) => {
      const email = person.email.toLowerCase();
      const mail = { kind: 'sign-up', to: email, sender: addressName(visitor.address) } as const;
      return mailing(mail, async () => {
        const opened = await signUps.open({ email, name, invitation });
        mailer.send(
          opened.kind === 'known'
            ? letters.alreadyRegistered(publicUrl, { email })
            : letters.verifyAddress(publicUrl, { email }, opened.token),
        );
        return { kind: 'done', cookies: [] };
      });
    },
    openSignUp: (token) => signUps.find(token),
    async verify(token, { name, password }, visitor) {
      const open = await signUps.find(token);
      if (!open) return no(DEAD_LINK);
      const fault = passwordFault(password, open.email);
      if (fault !== undefined) return no(fault);
      const { password: passwords } = await auth.$context;
      const passwordHash = await passwords.hash(password);
      const person = await signUps.confirm(token, { name, passwordHash });
      if (!person) return no(DEAD_LINK);
      await team.foundUnlessInvited(person);
      const { invitation } = person;
      return {
        ...(await enter(person.id, visitor)),
        ...(invitation !== undefined && { invitation }),
      };
    },
    signIn: (email, password, visitor) =>
      attempt(() =>
        api.signInEmail({
          body: { email, password },
          headers: headersOf(visitor),
          returnHeaders: true,
        }),
      ),
    enter,
    signOut: (visitor) =>
      attempt(() => api.signOut({ headers: headersOf(visitor), returnHeaders: true })),
    forgot: (email, visitor) =>
      mailing({ kind: 'reset', to: email, sender: addressName(visitor.address) }, () =>
        attempt(() =>
          api.requestPasswordReset({
            body: { email },
            headers: headersOf(visitor),
            returnHeaders: true,
          }),
        ),
      ),
    async reset(token, newPassword, visitor) {
      const { internalAdapter } = await auth.$context;
      const asked = await internalAdapter.findVerificationValue(`reset-password:${token}`);
      const person = asked && (await internalAdapter.findUserById(asked.value));
      const fault = passwordFault(newPassword, person?.email ?? '');
      if (fault !== undefined) return no(fault);
      return attempt(() =>
        api.resetPassword({
          body: { token, newPassword },
          headers: headersOf(visitor),
          returnHeaders: true,
        }),
      );
    },
    async session(visitor) {
      if (visitor.cookie === undefined) return undefined;
      const found = await api.getSession({ headers: headersOf(visitor) });
      if (!found) return undefined;
      const { session, user } = found;
      return {
        sessionId: session.id,
        person: { id: user.id, name: user.name, email: user.email },
        activeAccountId: session.activeOrganizationId ?? undefined,
      };
    },
    async sessions(visitor) {
      const headers = headersOf(visitor);
      const [current, all] = await Promise.all([
        api.getSession({ headers }),
        api.listSessions({ headers }),
      ]);
      return all.map((one) => ({
        id: one.id,
        createdAt: one.createdAt,
        expiresAt: one.expiresAt,
        address: one.ipAddress ?? undefined,
        userAgent: one.userAgent ?? undefined,
        isThis: one.id === current?.session.id,
      }));
    },
    async endSession(id, visitor) {
      const current = await api.getSession({ headers: headersOf(visitor) });
      const ended = current && (await deleteSession(store, id, current.user.id));
      return ended ? { kind: 'done', cookies: [] } : no('This session no longer exists.');
    },
    invite: (organizationId, email, role, visitor) =>
      mailing({ kind: 'invitation', to: email, sender: organizationId }, () =>
        attempt(() =>
          api.createInvitation({
            body: { organizationId, email, role },
            headers: headersOf(visitor),
            returnHeaders: true,
          }),
        ),
      ),
    uninvite: (invitationId, visitor) =>
      attempt(() =>
        api.cancelInvitation({
          body: { invitationId },
          headers: headersOf(visitor),
          returnHeaders: true,
        }),
      ),
    accept: (invitationId, visitor) =>
      attempt(() =>
        api.acceptInvitation({
          body: { invitationId },
          headers: headersOf(visitor),
          returnHeaders: true,
        }),
      ),
  };
}

const isEmail = (text: string) => z.email().safeParse(text).success;

const no = (message: string) => ({ kind: 'no', message }) as const;

function tooManyMails(waitMs: number): string {
  const minutes = Math.ceil(waitMs / 60_000);
  return (
    'We’ve already sent several emails to this address. Open the newest one, or try again in ' +
    `${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`
  );
}

/** Ends one of a person's sessions, by its id: the database does not know its token. */
function deleteSession(store: Store, id: string, personId: string) {
  return store.write((tx: Kysely<PeopleTables>) =>
    tx
      .deleteFrom('sessions')
      .where('id', '=', id)
      .where('userId', '=', personId)
      .returning('id')
      .executeTakeFirst(),
  );
}

function headersOf({ cookie, userAgent, address }: Visitor): Headers {
  const headers = new Headers({ [ADDRESS_HEADER]: address });
  if (cookie !== undefined) headers.set('cookie', cookie);
  if (userAgent !== undefined) headers.set('user-agent', userAgent.slice(0, 300));
  return headers;
}

/** What the library's error codes mean to a person. Anything else is one neutral sentence. */
const MESSAGES: Readonly<Record<string, string>> = {
  INVALID_EMAIL: 'This isn’t a valid email address.',
  INVALID_EMAIL_OR_PASSWORD: 'Wrong email address or password.',
  PASSWORD_TOO_SHORT: `A password needs at least ${PASSWORD_LENGTH.min} characters.`,
  PASSWORD_TOO_LONG: `A password can have at most ${PASSWORD_LENGTH.max} characters.`,
  INVALID_TOKEN: 'This link has expired or was used. Request a new one.',
  TOKEN_EXPIRED: 'This link has expired or was used. Request a new one.',
  INVITATION_NOT_FOUND: 'This invitation was used, revoked, or has expired.',
  YOU_ARE_NOT_THE_RECIPIENT_OF_THE_INVITATION: 'This invitation is for another email address.',
  USER_IS_ALREADY_A_MEMBER_OF_THIS_ORGANIZATION: 'This person is already in the account.',
  INVITATION_LIMIT_REACHED: 'Too many open invitations. Revoke some first.',
};

async function outcomeOf(work: () => Promise<{ headers: Headers }>, log: Log): Promise<Outcome> {
  try {
    const { headers } = await work();
    return { kind: 'done', cookies: headers.getSetCookie() };
  } catch (error) {
    if (!(error instanceof APIError) || error.statusCode >= 500) throw error;
    const code = error.body?.code ?? '';
    const message = MESSAGES[code];
    if (message === undefined) log.info({ code }, 'an account request was refused');
    return { kind: 'no', message: message ?? 'Something went wrong. Check what you entered.' };
  }
}
