import { sql, type Kysely } from 'kysely';
import { Batcher } from '../../ground/domain/batcher.js';
import type { Clock } from '../../ground/domain/ports.js';
import type { Store } from '../../ground/store/store.js';
import { limited, type Admission, type RateState } from './admission.js';
import type { LimitedCaller, Limits } from './limits.js';
import type { LimitTables } from './schema.js';

const WINDOW_MS = 1000;
/** Requests that one statement decides together. */
const BATCH_MAX = 256;
/** Subjects whose batcher is kept; an idle one is made again when it is needed. */
const SUBJECTS_MAX = 20_000;
/** Rows of one insert. */
const SLOTS_PER_INSERT = 500;

/**
 * The database's clock in Unix milliseconds; unlike `now()` it goes on within a transaction. What
 * is written is rounded up and what it is compared with down, so that a slot is never early.
 */
const NOW = sql<bigint>`cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint)`;
const STAMP = sql<bigint>`cast(ceil(extract(epoch from clock_timestamp()) * 1000) as bigint)`;

interface Subject {
  readonly batcher: Batcher<null, Claim>;
  slots: number;
}

interface Claim {
  readonly isAdmitted: boolean;
  readonly remaining: number;
}

/**
 * Rates that several gateways share through PostgreSQL. A rate of N is N slots; whoever takes one
 * may search, and it can be taken again a second later. However many gateways ask, no second holds
 * more than N. Requests that wait together share a statement, and what this gateway alone has
 * admitted already in the last second is refused without asking.
 *
 * A key with a rate of its own takes a slot of that first; when its account has none left, the
 * key's slot stays taken for that second.
 *
 * @param own this gateway's own limits: its addresses, and the first look at every account.
 */
export function sharedLimits(store: Store, clock: Clock, own: Limits): Limits {
  const subjects = new Map<string, Subject>();

  const subjectOf = (name: string, limit: number): Subject => {
    const known = subjects.get(name);
    subjects.delete(name);
    const subject = known?.slots === limit ? known : newSubject(store, clock, name, limit);
    subjects.set(name, subject);
    if (subjects.size > SUBJECTS_MAX) {
      const [oldest] = subjects.keys();
      if (oldest !== undefined) subjects.delete(oldest);
    }
    return subject;
  };
  const claim = async (name: string, limit: number, who: string): Promise<Admission> => {
    const { isAdmitted, remaining } = await subjectOf(name, limit).batcher.submit(null);
    const rate: RateState = {
      policy: 'search',
      limit,
      windowSeconds: WINDOW_MS / 1000,
      remaining,
      resetSeconds: 1,
    };
    return isAdmitted ? { kind: 'admitted', rate } : limited(rate, WINDOW_MS, who);
  };

  return {
    ...own,
    async admit(caller: LimitedCaller) {
      const first = await own.admit(caller);
      if (first.kind === 'limited') return first;
      const { account, key } = caller;
      if (key.ratePerSecond !== null) {
        const byKey = await claim(`key ${key.id}`, key.ratePerSecond, 'This key');
        if (byKey.kind === 'limited') return byKey;
      }
      return claim(account.id, account.ratePerSecond, 'Your account');
    },
  };
}

function newSubject(store: Store, clock: Clock, name: string, limit: number): Subject {
  let made: Promise<void> | undefined;
  const batcher = new Batcher<null, Claim>(
    async (items) => {
      made ??= makeSlots(store, name, limit);
      await made.catch((error: unknown) => {
        made = undefined; // tried again by the next batch
        throw error;
      });
      return claimSlots(store, name, limit, items.length);
    },
    (task) => clock.defer(task),
    BATCH_MAX,
  );
  return { batcher, slots: limit };
}

async function makeSlots(store: Store, subject: string, limit: number): Promise<void> {
  for (let from = 0; from < limit; from += SLOTS_PER_INSERT) {
    const count = Math.min(SLOTS_PER_INSERT, limit - from);
    const rows = Array.from({ length: count }, (_, index) => ({
      subject,
      slot: from + index,
      used_at: 0,
    }));
    await store.write((tx: Kysely<LimitTables>) =>
      tx
        .insertInto('rate_slots')
        .values(rows)
        .onConflict((conflict) => conflict.columns(['subject', 'slot']).doNothing())
        .execute(),
    );
  }
}

/** Takes up to `wanted` free slots. A slot that another gateway is taking right now is passed by. */
async function claimSlots(
  store: Store,
  subject: string,
  limit: number,
  wanted: number,
): Promise<readonly Claim[]> {
  const { taken, free } = await store.write(async (tx: Kysely<LimitTables>) => {
    const chosen = tx
      .selectFrom('rate_slots')
      .select('slot')
      .where('subject', '=', subject)
      .where('slot', '<', limit)
      .where('used_at', '<=', sql<bigint>`${NOW} - ${sql.lit(WINDOW_MS)}`)
      .limit(wanted)
      .forUpdate()
      .skipLocked();
    const rows = await tx
      .with('chosen', () => chosen)
      .updateTable('rate_slots')
      .from('chosen')
      .set({ used_at: STAMP })
      .where('rate_slots.subject', '=', subject)
      .whereRef('rate_slots.slot', '=', 'chosen.slot')
      .returning('rate_slots.slot')
      .execute();
    const left = await tx
      .selectFrom('rate_slots')
      .select(({ fn }) => fn.countAll<bigint>().as('count'))
      .where('subject', '=', subject)
      .where('slot', '<', limit)
      .where('used_at', '<=', sql<bigint>`${NOW} - ${sql.lit(WINDOW_MS)}`)
      .executeTakeFirstOrThrow();
    return { taken: rows.length, free: Number(left.count) };
  });
  return Array.from({ length: wanted }, (_, index) => ({
    isAdmitted: index < taken,
    remaining: index < taken ? free + (taken - 1 - index) : 0,
  }));
}
