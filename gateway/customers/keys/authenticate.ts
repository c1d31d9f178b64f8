import type { Kysely } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import { unixMillis } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import { BoundedCache } from './bounded-cache.js';
import { accountOf, type Caller } from './caller.js';
import { hashKey, parseKey, type ApiKeyHash } from './format.js';
import type { KeyTables } from './schema.js';

/** A key was good. */
interface Authenticated {
  readonly kind: 'caller';
  readonly caller: Caller;
}

/**
 * Says who sends an `Authorization` header. Costs a hash and a look into a map when the key was
 * seen within the last second, a read of the database otherwise, and neither when the key's
 * checksum is wrong.
 */
export interface Authenticator {
  /** @param header the value of `Authorization`, or undefined when there is none. */
  authenticate(header: string | undefined): Promise<Authenticated | Refusal>;
  /**
   * Forgets everything that is known about keys, so that the next request of this process sees
   * what was just committed: called after every change to a key or an account.
   */
  forget(): void;
  /** The keys that were used since the last call, with the time of their last use. */
  takeLastUses(): ReadonlyMap<string, number>;
}

/**
 * How long a revoked or changed key may go on working in another process that shares the
 * database: the age at which a cached answer is read again.
 */
export const KEY_CACHE_MS = 1000;
const KEYS_CACHED_MAX = 10_000;

type Known = Authenticated | Refusal;

const INVALID = refuse(
  'invalid_api_key',
  'This API key doesn’t exist, was revoked or has expired. Check it, or create a new one.',
);

export function authenticator(store: Store, clock: Clock): Authenticator {
  // Unknown keys are kept apart: guessing must not push the keys of customers out.
  const known = new BoundedCache<Known>(KEYS_CACHED_MAX, KEY_CACHE_MS);
  const unknown = new BoundedCache<Known>(KEYS_CACHED_MAX, KEY_CACHE_MS);
  const loading = new Map<ApiKeyHash, Promise<Known>>();
  let lastUses = new Map<string, number>();
  let generation = 0;

  /** Reads a key once for all who ask at the same time; keeps it unless keys changed meanwhile. */
  const load = (hash: ApiKeyHash): Promise<Known> => {
    const inFlight = loading.get(hash);
    if (inFlight) return inFlight;
    const started = generation;
    const startedMs = clock.monotonicMs();
    const reading = readKey(store, hash)
      .then((found) => {
        const cache = found === INVALID ? unknown : known;
        if (started === generation) cache.set(hash, found, startedMs);
        return found;
      })
      .finally(() => {
        if (loading.get(hash) === reading) loading.delete(hash);
      });
    loading.set(hash, reading);
    return reading;
  };

  return {
    async authenticate(header) {
      const text = bearer(header);
      if (typeof text !== 'string') return text;
      const key = parseKey(text);
      if (!key) {
        return refuse(
          'invalid_api_key',
          'This isn’t a valid API key: its format or checksum is wrong. Copy the whole key again.',
        );
      }
      const hash = hashKey(key);
      const nowMs = clock.monotonicMs();
      const found = known.get(hash, nowMs) ?? unknown.get(hash, nowMs) ?? (await load(hash));
      if (found.kind === 'refusal') return found;
      const { expiresAt, id } = found.caller.key;
      const now = clock.now();
      if (expiresAt !== null && expiresAt <= now) return INVALID;
      lastUses.set(id, now);
      return found;
    },
    forget() {
      generation += 1;
      known.clear();
      unknown.clear();
      loading.clear();
    },
    takeLastUses() {
      const taken = lastUses;
      lastUses = new Map();
      return taken;
    },
  };
}

/** The credentials of a `Bearer` header (RFC 6750, 2.1; the scheme's letter case is free). */
function bearer(header: string | undefined): string | Refusal {
  if (header === undefined || header === '') {
    return refuse(
      'missing_api_key',
      'This request has no API key. Send it as "Authorization: Bearer <API_KEY>".',
    );
  }
  const credentials = /^Bearer +(\S+) *$/i.exec(header)?.[1];
  return (
    credentials ??
    refuse('invalid_api_key', 'The Authorization header must have the form "Bearer <API_KEY>".')
  );
}

async function readKey(store: Store, hash: ApiKeyHash): Promise<Known> {
  const row = await store.read((db: Kysely<KeyTables>) =>
    db
      .selectFrom('api_keys as key')
      .innerJoin('accounts as account', 'account.id', 'key.account_id')
      .select([
        'key.id',
        'key.name',
        'key.created_by',
        'key.rate_per_second as key_rate',
        'key.monthly_budget',
        'key.expires_at',
        'key.account_id',
        'account.plan',
        'account.rate_per_second',
        'account.plan_ends_at',
        'account.suspended_at',
        'account.suspended_reason',
      ])
      .where('key.hash', '=', hash)
      .where('key.revoked_at', 'is', null)
      .executeTakeFirst(),
  );
  if (!row) return INVALID;
  if (row.suspended_at !== null) {
    const reason = row.suspended_reason ? `: ${row.suspended_reason}` : '';
    return refuse(
      'account_suspended',
      `This account is suspended${reason}. Contact the operator of this service.`,
    );
  }
  const number = (value: bigint | null) => (value === null ? null : Number(value));
  const caller: Caller = {
    account: accountOf(row.account_id, row),
    key: {
      id: row.id,
      name: row.name,
      createdBy: row.created_by,
      ratePerSecond: number(row.key_rate),
      monthlyBudget: number(row.monthly_budget),
      expiresAt: row.expires_at === null ? null : unixMillis(Number(row.expires_at)),
    },
  };
  return { kind: 'caller', caller };
}
