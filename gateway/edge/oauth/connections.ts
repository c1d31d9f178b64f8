import type { Kysely } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import type { KeyTables } from '../../customers/keys/schema.js';
import type { Store } from '../../ground/store/store.js';
import type { OauthTables } from './schema.js';
import type { Subject } from './subject.js';
import type { Tokens } from './tokens.js';

/** An application that a person lets search on an account, as that person sees it. */
export interface Connection {
  /** The grant's id. */
  readonly id: string;
  readonly clientName: string;
  /** The host that describes the application; undefined when it only claims its name. */
  readonly describedAt: string | undefined;
  readonly accountName: string;
  readonly scope: string;
  readonly resources: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | undefined;
}

/** What a person has just consented to. */
export interface Consent {
  readonly grantId: string;
  readonly subject: Subject;
  readonly clientId: string;
  readonly clientName: string;
  readonly scope: string;
  readonly resources: readonly string[];
}

/** The applications that people have connected. */
export interface Connections {
  add(consent: Consent): Promise<void>;
  /** A person's connections that still work, newest first. */
  list(personId: string): Promise<readonly Connection[]>;
  /**
   * Ends a connection of this person's with its codes, refresh and access tokens. They are refused
   * from the next request on in this process, and within KEY_CACHE_MS in every other that shares
   * the database.
   */
  revoke(personId: string, id: string): Promise<'revoked' | 'not-found'>;
  /** Writes the times of last use to the database: called every few seconds, and at the end. */
  flushLastUses(): Promise<void>;
}

/** Connections that one person is shown: a bound on a table that clients fill. */
const SHOWN_MAX = 200;

/** What a client can still be served with. */
const LIVE_MODELS = ['AuthorizationCode', 'AccessToken', 'RefreshToken'];

export function openConnections(store: Store, clock: Clock, tokens: Tokens): Connections {
  return {
    async add({ grantId, subject, clientId, clientName, scope, resources }) {
      await store.write((tx: Kysely<OauthTables>) =>
        tx
          .insertInto('oauth_connections')
          .values({
            grant_id: grantId,
            person_id: subject.personId,
            account_id: subject.accountId,
            client_id: clientId,
            client_name: clientName,
            scope,
            resources: resources.join(' '),
            created_at: clock.now(),
            last_used_at: null,
          })
          .execute(),
      );
    },
    async list(personId) {
      const rows = await store.read((db: Kysely<OauthTables & KeyTables>) =>
        liveConnections(db, BigInt(clock.now())).where('person_id', '=', personId).execute(),
      );
      return rows.map((row) => ({
        id: row.grant_id,
        clientName: row.client_name,
        describedAt: describedAt(row.client_id),
        accountName: row.account_name,
        scope: row.scope,
        resources: row.resources,
        createdAt: new Date(Number(row.created_at)),
        lastUsedAt: row.last_used_at === null ? undefined : new Date(Number(row.last_used_at)),
      }));
    },
    async revoke(personId, id) {
      const ended = await store.write(async (tx: Kysely<OauthTables>) => {
        const deleted = await tx
          .deleteFrom('oauth_connections')
          .where('grant_id', '=', id)
          .where('person_id', '=', personId)
          .returning('grant_id')
          .execute();
        if (deleted.length === 0) return false;
        await tx.deleteFrom('oauth_records').where('grant_id', '=', id).execute();
        return true;
      });
      tokens.forget();
      return ended ? 'revoked' : 'not-found';
    },
    async flushLastUses() {
      const uses = tokens.takeLastUses();
      if (uses.size === 0) return;
      await store.write(async (tx: Kysely<OauthTables>) => {
        for (const [id, at] of uses) {
          await tx
            .updateTable('oauth_connections')
            .set({ last_used_at: at })
            .where('grant_id', '=', id)
            .execute();
        }
      });
    },
  };
}

/** Connections with a code or token that has not lapsed and was not used up. */
function liveConnections(db: Kysely<OauthTables & KeyTables>, now: bigint) {
  return db
    .selectFrom('oauth_connections as connection')
    .innerJoin('accounts as account', 'account.id', 'connection.account_id')
    .selectAll('connection')
    .select('account.name as account_name')
    .where((is) =>
      is.exists(
        is
          .selectFrom('oauth_records as live')
          .select('live.id')
          .whereRef('live.grant_id', '=', 'connection.grant_id')
          .where('live.model', 'in', LIVE_MODELS)
          .where('live.expires_at', '>', now)
          .where('live.consumed_at', 'is', null),
      ),
    )
    .orderBy('connection.created_at', 'desc')
    .orderBy('connection.grant_id')
    .limit(SHOWN_MAX);
}

/** The host of a client that is described at its own address; its id is that address. */
export function describedAt(clientId: string): string | undefined {
  return /^https:/i.test(clientId) ? new URL(clientId).host : undefined;
}
