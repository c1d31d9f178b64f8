import type { Kysely } from 'kysely';
import type Provider from 'oidc-provider';
import { ratePerSecond } from '../domain/plan.js';
import type { Clock } from '../domain/ports.js';
import { isRefusal, refuse, type Refusal } from '../domain/refusal.js';
import { KEY_CACHE_MS } from '../keys/authenticate.js';
import { BoundedCache } from '../keys/bounded-cache.js';
import type { Caller } from '../keys/caller.js';
import type { KeyTables } from '../keys/schema.js';
import type { Store } from '../store/store.js';
import { parseSubject, type Subject } from './subject.js';

const TOKENS_CACHED_MAX = 10_000;

/** Whether a person still belongs to an account. */
export type IsMember = (subject: Subject) => Promise<boolean>;

export interface TokenParts {
  readonly provider: Provider;
  readonly store: Store;
  readonly clock: Clock;
  readonly isMember: IsMember;
}

/**
 * Says whose account an access token speaks for. It must have been issued for `resource`
 * (RFC 8707, 2), must not be revoked, and its person must still belong to the account. A change
 * is seen within KEY_CACHE_MS, as with keys.
 */
export type AuthenticateToken = (token: string, resource: string) => Promise<Caller | Refusal>;

export function tokenAuthenticator(parts: TokenParts): AuthenticateToken {
  const known = new BoundedCache<Caller | Refusal>(TOKENS_CACHED_MAX, KEY_CACHE_MS);
  return async (token, resource) => {
    const name = `${resource} ${token}`;
    const nowMs = parts.clock.monotonicMs();
    const cached = known.get(name, nowMs);
    if (cached) return cached;
    const caller = await readToken(parts, token, resource);
    // Guesses are not remembered: they must not push the tokens of people out.
    if (!isRefusal(caller)) known.set(name, caller, nowMs);
    return caller;
  };
}

async function readToken(
  parts: TokenParts,
  token: string,
  resource: string,
): Promise<Caller | Refusal> {
  const found = await parts.provider.AccessToken.find(token);
  if (!found?.isValid || found.aud !== resource) return INVALID;
  const subject = parseSubject(found.accountId);
  if (!subject || !(await parts.isMember(subject))) return INVALID;
  const client = await parts.provider.Client.find(found.clientId ?? '');
  const account = await accountOf(parts.store, subject.accountId);
  if (!client || !account) return INVALID;
  if ('refusal' in account) return account.refusal;
  return {
    account,
    key: {
      id: `oauth:${found.grantId}`,
      name: client.clientName ?? client.clientId,
      createdBy: subject.personId,
      ratePerSecond: null,
      monthlyBudget: null,
      expiresAt: null,
    },
  };
}

const INVALID = refuse(
  'invalid_api_key',
  'This access token is not valid here, was revoked or has lapsed. Sign in again.',
);

async function accountOf(
  store: Store,
  id: string,
): Promise<Caller['account'] | { refusal: Refusal } | undefined> {
  const row = await store.read((db: Kysely<KeyTables>) =>
    db
      .selectFrom('accounts')
      .select(['id', 'plan', 'rate_per_second', 'suspended_at'])
      .where('id', '=', id)
      .executeTakeFirst(),
  );
  if (!row) return undefined;
  if (row.suspended_at !== null) return { refusal: SUSPENDED };
  const agreed = row.rate_per_second === null ? null : Number(row.rate_per_second);
  return { id: row.id, plan: row.plan, ratePerSecond: ratePerSecond(row.plan, agreed) };
}

const SUSPENDED = refuse(
  'account_suspended',
  'This account is suspended. Its people can contact the operator of this service.',
);
