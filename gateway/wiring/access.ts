import type { Clock, Log, Random } from '../ground/domain/ports.js';
import { isRefusal } from '../ground/domain/refusal.js';
import { openCredits, TURN_MS, type Credits } from '../customers/credits/credits.js';
import {
  openIdempotentReplies,
  REPLY_LIMITS,
  type IdempotentReplies,
} from '../customers/credits/idempotent-replies.js';
import { startHousekeeping } from './housekeeping.js';
import { openKeys, type Keys } from '../customers/keys/keys.js';
import { memoryLimits, type Limits } from '../customers/limits/limits.js';
import { sharedLimits, type SharedLimits } from '../customers/limits/shared.js';
import { unpaidWork, type UnpaidWork } from '../customers/limits/unpaid.js';
import type { SearchParts } from '../search/pipeline.js';
import type { Store } from '../ground/store/store.js';

/** Keys, credits and limits, with the housekeeping that they need. */
export interface Access {
  readonly keys: Keys;
  readonly credits: Credits;
  readonly limits: Limits;
  /** What those cost who have paid nothing. */
  readonly unpaid: UnpaidWork;
  /** Replies that copies of an account's search get. */
  readonly replies: IdempotentReplies;
  /** How the pipeline asks who somebody is. */
  readonly authenticate: SearchParts<object>['authenticate'];
  stop(): Promise<void>;
}

/** Holds of processes that died are given back this often. */
const LAPSED_EVERY_MS = 3_000;
/** Times of last use are written this often. */
const LAST_USES_EVERY_MS = 10_000;
/** Replies that are too old, or too many, go this often. */
const REPLIES_EVERY_MS = 10_000;
/** Bytes of kept replies of all accounts unless the settings say otherwise. */
const REPLY_BYTES_MAX = 1024 ** 3;

export async function openAccess(
  store: Store,
  ports: { clock: Clock; random: Random; log: Log },
  addressRate: number,
  replyBytesMax = REPLY_BYTES_MAX,
): Promise<Access> {
  const { clock, random, log } = ports;
  const keys = openKeys(store, clock, random);
  const credits = openCredits(store, clock, random);
  const replies = openIdempotentReplies(store, clock, { ...REPLY_LIMITS, bytesMax: replyBytesMax });
  const own = memoryLimits(clock, {
    challengesPerSecond: addressRate,
    paymentsPerSecond: addressRate * 10,
  });
  const shared: SharedLimits | undefined = store.isExclusive
    ? undefined
    : sharedLimits({ store, clock, gateway: random.uuid() }, own);
  const limits = shared ?? own;
  await credits.releaseLapsed();
  const housekeeping = startHousekeeping(clock, log);
  housekeeping.every(TURN_MS, 'booking searches', () => credits.turn());
  if (shared) {
    housekeeping.every(TURN_MS, 'sharing rates', () => shared.turn());
    housekeeping.every(LAPSED_EVERY_MS, 'giving back lapsed rates', () => shared.returnLapsed());
  }
  housekeeping.every(LAPSED_EVERY_MS, 'giving back lapsed holds', () => credits.releaseLapsed());
  housekeeping.every(LAST_USES_EVERY_MS, 'writing times of last use', () => keys.flushLastUses());
  housekeeping.every(REPLIES_EVERY_MS, 'pruning replies', () => replies.prune());
  return {
    keys,
    credits,
    limits,
    unpaid: unpaidWork(clock, addressRate),
    replies,
    authenticate: authenticateWith(keys, limits),
    stop: async () => {
      await housekeeping.stop();
      await credits.close();
      await keys.flushLastUses();
    },
  };
}

/** Checks a key; an address that has shown too many bad ones is refused before the next is read. */
function authenticateWith(keys: Keys, limits: Limits): Access['authenticate'] {
  return async (authorization, address) => {
    const standing = limits.peekAddress(address, 'failed-key');
    if (standing.kind === 'limited') return standing.refusal;
    const result = await keys.authenticate(authorization);
    if (!isRefusal(result)) return result.caller;
    if (result.status === 401) limits.admitAddress(address, 'failed-key');
    return result;
  };
}
