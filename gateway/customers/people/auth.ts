import { kyselyAdapter } from '@better-auth/kysely-adapter';
import { betterAuth, type BetterAuthOptions, type BetterAuthPlugin } from 'better-auth';
import { APIError, createAuthEndpoint } from 'better-auth/api';
import { setSessionCookie } from 'better-auth/cookies';
import { organization } from 'better-auth/plugins';
import { adminAc, memberAc } from 'better-auth/plugins/organization/access';
import { Kysely } from 'kysely';
import { z } from 'zod';
import type { Clock, Log, Random } from '../../ground/domain/ports.js';
import type { Sealing } from '../../ground/store/sealing.js';
import type { Store } from '../../ground/store/store.js';
import type { Mailer } from './mail.js';
import * as letters from './letters.js';
import { PASSWORD_LENGTH } from './passwords.js';
import type { PeopleTables } from './schema.js';
import { withHashedTokens } from './session-tokens.js';
import { storeDialect } from './store-dialect.js';

export interface AuthParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly mailer: Mailer;
  /** Keeps the secret that signs session cookies in the database. */
  readonly sealing: Sealing;
  /** The address at which people reach the console, without a path: `https://search.example`. */
  readonly publicUrl: string;
  /** Called when a person has just set a new password by mail. */
  onPasswordReset(personId: string): Promise<void>;
}

const SESSION_SECONDS = 7 * 24 * 3600;
const INVITATION_SECONDS = 7 * 24 * 3600;
const LINK_SECONDS = 3600;
const MEMBERS_MAX = 100;

/** The header in which the console hands on the address that the proxy settings believe. */
export const ADDRESS_HEADER = 'x-search402-address';

/**
 * better-auth on the project's own database. Its HTTP router is not mounted: the console calls
 * the functions that it needs, so no endpoint is reachable that is not one of the console's own.
 */
export async function openAuth(parts: AuthParts) {
  const { store, mailer, publicUrl, log } = parts;
  const db = new Kysely<PeopleTables>({ dialect: storeDialect(store) });
  return betterAuth({
    baseURL: publicUrl,
    basePath: '/console/auth',
    secret: await sessionSecret(parts),
    telemetry: { enabled: false },
    logger: {
      // Their messages hold e-mail addresses, so only what is broken is kept.
      level: 'error',
      log: (level, message) => (level === 'error' ? log.error({}, message) : undefined),
    },
    database: (options: BetterAuthOptions) =>
      withHashedTokens(kyselyAdapter(db, { type: store.engine })(options)),
    user: { modelName: 'people' },
    session: {
      modelName: 'sessions',
      expiresIn: SESSION_SECONDS,
      updateAge: 24 * 3600,
    },
    account: { modelName: 'logins' },
    verification: { modelName: 'verifications', storeIdentifier: 'hashed' },
    emailAndPassword: {
      enabled: true,
      // People sign up by `sign-up.ts`: nobody exists before the address is confirmed.
      disableSignUp: true,
      requireEmailVerification: true,
      minPasswordLength: PASSWORD_LENGTH.min,
      maxPasswordLength: PASSWORD_LENGTH.max,
      revokeSessionsOnPasswordReset: true,
      resetPasswordTokenExpiresIn: LINK_SECONDS,
      sendResetPassword: ({ user, token }) => {
        mailer.send(letters.resetPassword(publicUrl, user, token));
        return Promise.resolve();
      },
      onPasswordReset: ({ user }) => parts.onPasswordReset(user.id),
    },
    advanced: {
      useSecureCookies: publicUrl.startsWith('https:'),
      cookiePrefix: 'search402',
      defaultCookieAttributes: { httpOnly: true, sameSite: 'lax', path: '/console' },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
    },
    rateLimit: { enabled: false },
    plugins: [
      sessionsOfProven,
      organization({
        roles: { admin: adminAc, member: memberAc },
        creatorRole: 'admin',
        allowUserToCreateOrganization: false,
        membershipLimit: MEMBERS_MAX,
        invitationLimit: MEMBERS_MAX,
        invitationExpiresIn: INVITATION_SECONDS,
        cancelPendingInvitationsOnReInvite: true,
        requireEmailVerificationOnInvitation: true,
        schema: {
          organization: { modelName: 'organizations' },
          member: { modelName: 'memberships' },
          invitation: { modelName: 'invitations' },
        },
        sendInvitationEmail: (invitation) => {
          mailer.send(
            letters.invitation(publicUrl, {
              id: invitation.id,
              to: invitation.email,
              role: invitation.role,
              account: invitation.organization.name,
              inviter: invitation.inviter.user.name,
            }),
          );
          return Promise.resolve();
        },
      }),
    ],
  });
}

/**
 * A session for a person who has shown otherwise than by a password who they are. Never reachable
 * from outside: the caller has checked, say, a wallet's signature.
 */
const sessionsOfProven = {
  id: 'sessions-of-proven',
  endpoints: {
    openSession: createAuthEndpoint.serverOnly(
      { method: 'POST', body: z.object({ personId: z.string() }) },
      async (context) => {
        const { internalAdapter } = context.context;
        const user = await internalAdapter.findUserById(context.body.personId);
        if (!user?.emailVerified) throw new APIError('FORBIDDEN', { code: 'EMAIL_NOT_VERIFIED' });
        const session = await internalAdapter.createSession(user.id);
        await setSessionCookie(context, { session, user });
        return context.json({});
      },
    ),
  },
} satisfies BetterAuthPlugin;

/** Made once for a database, and sealed there. */
async function sessionSecret({ store, random, sealing }: AuthParts): Promise<string> {
  const name = 'session-cookies';
  const made = Buffer.from(random.bytes(32)).toString('base64url');
  const sealed = await store.write(async (tx: Kysely<PeopleTables>) => {
    await tx
      .insertInto('service_secrets')
      .values({ name, value: sealing.seal(name, made) })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute();
    const row = await tx
      .selectFrom('service_secrets')
      .select('value')
      .where('name', '=', name)
      .executeTakeFirstOrThrow();
    return row.value;
  });
  return sealing.open(name, sealed);
}
