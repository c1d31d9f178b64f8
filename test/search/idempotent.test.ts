import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Kysely } from 'kysely';
import { openCredits, type Credits } from '../../gateway/customers/credits/credits.js';
import {
  openIdempotentReplies,
  REPLY_LIMITS,
  type ReplyLimits,
} from '../../gateway/customers/credits/idempotent-replies.js';
import type { AccountTables } from '../../gateway/customers/credits/schema.js';
import { refuse } from '../../gateway/ground/domain/refusal.js';
import type { Store } from '../../gateway/ground/store/store.js';
import type { RunSearch } from '../../gateway/search/answer.js';
import { createIdempotentSearch } from '../../gateway/search/idempotent.js';
import { createKeyedSearch } from '../../gateway/search/keyed.js';
import { keptOpen } from '../../gateway/search/keeping.js';
import { callerOf, givenAccount, handClock, openAccountStore } from '../support/accounts.js';
import { deferred } from '../support/deferred.js';
import { ENGINES, engineOf } from '../support/engines.js';
import { realClock, realRandom } from '../support/ports.js';

const LIMITS: ReplyLimits = { ...REPLY_LIMITS, bytesMax: 1024 ** 3 };
const REQUEST = { query: 'lamp', maxResults: 10, maxDescriptionLength: 3000 };

describe.each(ENGINES)('on %s', (name) => {
  let store: Store;
  let credits: Credits;
  let account: string;
  const clock = handClock();
  const engine = engineOf(name);
  beforeAll(engine.start);
  afterAll(engine.stop);
  beforeEach(async () => {
    store = await openAccountStore(engine.location());
    credits = openCredits(store, clock, realRandom);
    account = await givenAccount(store, { credits: 10 });
  });
  afterEach(async () => {
    expect(await credits.reconcile()).toEqual([]);
    await store.close();
  });

  let searches = 0;
  const answer: RunSearch = () => {
    searches += 1;
    const body = Buffer.from(`{"search":${searches}}`);
    return Promise.resolve({ kind: 'answer', body, resultCount: 1 });
  };
  /** One gateway; each has its own memory. */
  const gateway = ({ limits = LIMITS, waitMs = 2_000 } = {}) => {
    const replies = openIdempotentReplies(store, clock, limits);
    const search = createIdempotentSearch({
      search: createKeyedSearch(credits, { chargesEmpty: true }),
      replies,
      keeping: keptOpen,
      clock: realClock,
      waitMs,
    });
    const send = (
      idempotencyKey: string,
      more: { run?: RunSearch; request?: typeof REQUEST; account?: string } = {},
    ) => {
      const { run = answer, request = REQUEST } = more;
      const { signal } = new AbortController();
      const context = { requestId: realRandom.uuid(), signal, idempotencyKey };
      return search(callerOf(more.account ?? account), request, run, context);
    };
    return { send, replies };
  };
  const spent = async () => (await credits.balance(account))?.spent;
  const kept = () =>
    store.read((db: Kysely<AccountTables>) =>
      db
        .selectFrom('idempotent_replies')
        .select('idempotency_key')
        .where('account_id', '=', account)
        .execute(),
    );

  test('a hundred copies at two gateways are one search, one credit and one reply', async () => {
    searches = 0;
    const gateways = [gateway(), gateway()];
    const replies = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => gateways[i % 2]?.send('k')),
    );
    const bodies = replies.map((reply) =>
      reply?.kind === 'results'
        ? `${reply.requestId} ${Buffer.from(reply.body).toString()}`
        : reply?.refusal.code,
    );
    expect(new Set(bodies).size).toBe(1);
    expect(searches).toBe(1);
    expect(await spent()).toBe(1);
    expect(replies.filter((reply) => reply?.kind === 'results' && !reply.isReplay)).toHaveLength(1);
  });

  test('the same key for another search is refused, and is another account’s own', async () => {
    const { send } = gateway();
    await send('k');
    const other = await send('k', { request: { ...REQUEST, query: 'bread' } });
    expect(other).toMatchObject({ refusal: { code: 'idempotency_key_reused', status: 422 } });
    const neighbour = await givenAccount(store, { credits: 1 });
    const theirs = await send('k', { account: neighbour });
    expect(theirs).toMatchObject({ kind: 'results' });
    expect(theirs).not.toHaveProperty('isReplay');
    expect(await spent()).toBe(1);
  });

  test('a search that fails gives its key and its credit back', async () => {
    const { send } = gateway();
    const fail: RunSearch = () => Promise.resolve(refuse('upstream_error', 'No.'));
    expect(await send('k', { run: fail })).toMatchObject({ refusal: { code: 'upstream_error' } });
    const bug = send('k', { run: () => Promise.reject(new Error('a bug')) });
    await expect(bug).rejects.toThrow('a bug');
    expect(await kept()).toEqual([]);
    expect(await send('k')).toMatchObject({ kind: 'results' });
    expect(await credits.balance(account)).toMatchObject({ spent: 1, held: 0 });
  });

  test('a copy that has waited long enough is told to come back, and then gets the reply', async () => {
    const [first, second] = [gateway(), gateway({ waitMs: 150 })];
    const end = deferred();
    const slow: RunSearch = async (...asked) => {
      await end.promise;
      return answer(...asked);
    };
    const running = first.send('k', { run: slow });
    await realClock.sleep(50);
    const early = await second.send('k');
    expect(early).toMatchObject({
      refusal: { code: 'idempotency_pending', status: 503, retryAfterSeconds: 1 },
    });
    end.resolve();
    const reply = await running;
    const { requestId } = reply;
    expect(await second.send('k')).toMatchObject({ kind: 'results', requestId, isReplay: true });
    expect(await spent()).toBe(1);
  });

  test('the claim of a process that died is taken over, and what it still does counts for nothing', async () => {
    const [dead, alive] = [gateway(), gateway()];
    const end = deferred();
    const stalled = dead.send('k', {
      run: async (...asked) => {
        await end.promise;
        return answer(...asked);
      },
    });
    await realClock.sleep(50);
    clock.move(LIMITS.claimMs + 1);
    const reply = await alive.send('k');
    end.resolve();
    expect(await stalled).toMatchObject({ refusal: { code: 'idempotency_pending' } });
    expect(await dead.send('k')).toMatchObject({ requestId: reply.requestId, isReplay: true });
    expect(await credits.balance(account)).toMatchObject({ spent: 1, held: 0 });
  });

  test('replies go after a day, and the oldest where an account keeps too many', async () => {
    const { send, replies } = gateway({ limits: { ...LIMITS, perAccountMax: 3 } });
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      clock.move(1);
      await send(key);
    }
    await replies.prune();
    expect((await kept()).map((row) => row.idempotency_key).sort()).toEqual(['c', 'd', 'e']);
    const small = gateway({ limits: { ...LIMITS, bytesMax: 0 } });
    clock.move(86_400_001);
    expect(await send('c')).not.toHaveProperty('isReplay');
    await replies.prune();
    expect(await kept()).toHaveLength(1);
    await small.replies.prune();
    expect(await kept()).toEqual([]);
  });
});
