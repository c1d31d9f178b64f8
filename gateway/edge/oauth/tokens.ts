import type { Kysely } from 'kysely';
import type Provider from 'oidc-provider';
import type { Clock } from '../../ground/domain/ports.js';
import { isRefusal, refuse, type Refusal } from '../../ground/domain/refusal.js';
import { KEY_CACHE_MS } from '../../customers/keys/authenticate.js';
import { BoundedCache } from '../../customers/keys/bounded-cache.js';
import { accountOf, type Caller } from '../../customers/keys/caller.js';
import type { KeyTables } from '../../customers/keys/schema.js';
import type { Store } from '../../ground/store/store.js';
import type { OauthTables } from './schema.js';
import type { Subject } from './subject.js';

const TOKENS_CACHED_MAX = 10_000;

/** Whether a person still belongs to an account. */
export type IsMember = (subject: Subject) => Promise<boolean>;

export interface TokenParts {
  readonly provider: Provider;
  readonly store: Store;
  readonly clock: Clock;
  readonly isMember: IsMember;
}

/** Checks access tokens, and knows which grants they were used under. */
export interface Tokens {
  /**
   * Says whose account an access token speaks for. It must have been issued for `resource`
   * (RFC 8707, 2), must not be revoked, its connection must not have been ended, and its person
   * must still belong to the account. A change is seen within KEY_CACHE_MS, as with keys.
   */
  readonly authenticate: (token: string, resource: string) => Promise<Caller | Refusal>;
  /** Forgets every token that was checked, so that the next request sees what was just ended. */
  forget(): void;
  /** The grants that were used since the last call, with the time of their last use. */
  takeLastUses(): ReadonlyMap<string, number>;
}

export function openTokens(parts: TokenParts): Tokens {
  const { clock, provider } = parts;
  const known = new BoundedCache<Checked>(TOKENS_CACHED_MAX, KEY_CACHE_MS);
  let lastUses = new Map<string, number>();
  let generation = 0;
  const forget = () => {
    generation += 1;
    known.clear();
  };
  provider.on('grant.revoked', forget);

  const check = async (token: string, resource: string): Promise<Checked | Refusal> => {
    const name = `${resource} ${token}`;
    const nowMs = clock.monotonicMs();
    const cached = known.get(name, nowMs);
    if (cached) return cached;
    const started = generation;
    const checked = await readToken(parts, token, resource);
    // Guesses are not remembered: they must not push the tokens of people out.
    if (!isRefusal(checked) && started === generation) known.set(name, checked, nowMs);
    return checked;
  };

  return {
    async authenticate(token, resource) {
      const checked = await check(token, resource);
      if (isRefusal(checked)) return checked;
      lastUses.set(checked.grantId, clock.now());
      return checked.caller;
    },
    forget,
    takeLastUses() {
      const taken = lastUses;
      lastUses = new Map();
      return taken;
    },
  };
}

interface Checked {
  readonly kind: 'checked';
  readonly grantId: string;
  readonly caller: Caller;
}

/**
 * Reads a token and its connection. The client itself is not looked at: the description of one that
 * is described at its own address would have to be fetched, and a search must not wait for that.
 */
async function readToken(
  { provider, store, isMember }: TokenParts,
  token: string,
  resource: string,
): Promise<Checked | Refusal> {
  const found = await provider.AccessToken.find(token);
  const grantId = found?.grantId;
  if (!found?.isValid || grantId === undefined || found.aud !== resource) return INVALID;
  const connection = await connectionOf(store, grantId);
  if (!connection) return INVALID;
  const subject = { personId: connection.person_id, accountId: connection.account_id };
  if (!(await isMember(subject))) return INVALID;
  if (connection.suspended_at !== null) return SUSPENDED;
  const account = accountOf(subject.accountId, connection);
  const key = {
    id: `oauth:${grantId}`,
    name: connection.client_name,
    createdBy: subject.personId,
    ratePerSecond: null,
    monthlyBudget: null,
    expiresAt: null,
  };
  return { kind: 'checked', grantId, caller: { account, key } };
}

/** A connection with the account that it searches on. */
function connectionOf(store: Store, grantId: string) {
  return store.read((db: Kysely<KeyTables & OauthTables>) =>
    db
      .selectFrom('oauth_connections as connection')
      .innerJoin('accounts as account', 'account.id', 'connection.account_id')
      .select([
        'connection.person_id',
        'connection.account_id',
        'connection.client_name',
        'account.plan',
        'account.rate_per_second',
        'account.plan_ends_at',
        'account.suspended_at',
      ])
      .where('connection.grant_id', '=', grantId)
      .executeTakeFirst(),
  );
}

const INVALID = refuse(
  'invalid_api_key',
  'This access token is invalid, revoked or expired. Sign in again.',
);

const SUSPENDED = refuse(
  'account_suspended',
  'This account is suspended. Contact the operator of this service.',
);
