import { APIError } from 'better-auth/api';
import type { Log } from '../../domain/ports.js';
import { ADDRESS_HEADER, openAuth, PASSWORD_LENGTH, type AuthParts } from './auth.js';
import type { Role } from './schema.js';
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
    person: { name: string; email: string; password: string },
    visitor: Visitor,
  ): Promise<Outcome>;
  /** Confirms an address by the token of the mail, and signs the person in. */
  verify(token: string, visitor: Visitor): Promise<Outcome>;
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
  parts: Omit<AuthParts, 'onVerified' | 'onPasswordReset'> & { readonly team: Team },
): Promise<People> {
  const { team, log, store } = parts;
  const { api } = await openAuth({
    ...parts,
    onVerified: async (person) => {
      await team.found({ ...person, email: person.email.toLowerCase() });
    },
    onPasswordReset: async (personId) => {
      await removeWallets(store, personId);
    },
  });
  const attempt = (work: () => Promise<{ headers: Headers }>) => outcomeOf(work, log);

  return {
    signUp: ({ name, email, password }, visitor) =>
      attempt(() =>
        api.signUpEmail({
          body: { name, email, password },
          headers: headersOf(visitor),
          returnHeaders: true,
        }),
      ),
    verify: (token, visitor) =>
      attempt(() =>
        api.verifyEmail({ query: { token }, headers: headersOf(visitor), returnHeaders: true }),
      ),
    signIn: (email, password, visitor) =>
      attempt(() =>
        api.signInEmail({
          body: { email, password },
          headers: headersOf(visitor),
          returnHeaders: true,
        }),
      ),
    enter: (personId, visitor) =>
      attempt(() =>
        api.openSession({
          body: { personId },
          headers: headersOf(visitor),
          returnHeaders: true,
        }),
      ),
    signOut: (visitor) =>
      attempt(() => api.signOut({ headers: headersOf(visitor), returnHeaders: true })),
    forgot: (email, visitor) =>
      attempt(() =>
        api.requestPasswordReset({
          body: { email },
          headers: headersOf(visitor),
          returnHeaders: true,
        }),
      ),
    reset: (token, newPassword, visitor) =>
      attempt(() =>
        api.resetPassword({
          body: { token, newPassword },
          headers: headersOf(visitor),
          returnHeaders: true,
        }),
      ),
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
      const headers = headersOf(visitor);
      const session = (await api.listSessions({ headers })).find((one) => one.id === id);
      if (!session) return { kind: 'no', message: 'There is no such session.' };
      return attempt(() =>
        api.revokeSession({ body: { token: session.token }, headers, returnHeaders: true }),
      );
    },
    invite: (organizationId, email, role, visitor) =>
      attempt(() =>
        api.createInvitation({
          body: { organizationId, email, role },
          headers: headersOf(visitor),
          returnHeaders: true,
        }),
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

function headersOf({ cookie, userAgent, address }: Visitor): Headers {
  const headers = new Headers({ [ADDRESS_HEADER]: address });
  if (cookie !== undefined) headers.set('cookie', cookie);
  if (userAgent !== undefined) headers.set('user-agent', userAgent.slice(0, 300));
  return headers;
}

/** What the library's error codes mean to a person. Anything else is one neutral sentence. */
const MESSAGES: Readonly<Record<string, string>> = {
  INVALID_EMAIL: 'This is not an e-mail address.',
  INVALID_EMAIL_OR_PASSWORD: 'The e-mail address or the password is wrong.',
  EMAIL_NOT_VERIFIED:
    'Confirm your e-mail address first: a new mail with a link is on its way to you.',
  PASSWORD_TOO_SHORT: `A password needs at least ${PASSWORD_LENGTH.min} characters.`,
  PASSWORD_TOO_LONG: `A password has at most ${PASSWORD_LENGTH.max} characters.`,
  INVALID_TOKEN: 'This link is not valid any more. Ask for a new one.',
  TOKEN_EXPIRED: 'This link is not valid any more. Ask for a new one.',
  INVITATION_NOT_FOUND: 'This invitation was used, taken back, or has expired.',
  YOU_ARE_NOT_THE_RECIPIENT_OF_THE_INVITATION: 'This invitation is for another e-mail address.',
  USER_IS_ALREADY_A_MEMBER_OF_THIS_ORGANIZATION: 'This person belongs to the account already.',
  INVITATION_LIMIT_REACHED: 'Too many invitations are open. Take some back first.',
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
    return { kind: 'no', message: message ?? 'This did not work. Check what you entered.' };
  }
}
