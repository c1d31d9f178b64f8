import { describe, expect, test } from '@jest/globals';
import { type BatchConnection, GroupCommit } from '../../../gateway/ground/store/group-commit.js';
import type { UnavailableReason } from '../../../gateway/ground/store/store.js';

/** A connection that keeps what is committed, and fails where it is told to. */
function connection(fails: { commit?: UnavailableReason } = {}) {
  const state = { pending: [] as string[], durable: [] as string[], depth: 0 };
  const batch: BatchConnection = {
    begin: () => (state.depth = 1),
    savepoint: () => undefined,
    releaseSavepoint: () => undefined,
    undoToSavepoint: () => state.pending.pop(),
    commit: () => {
      if (fails.commit) throw new Error(fails.commit);
      state.durable.push(...state.pending.splice(0));
      state.depth = 0;
    },
    rollback: () => {
      state.pending = [];
      state.depth = 0;
    },
    inTransaction: () => state.depth > 0,
    classify: (error) =>
      ['busy', 'disk-full', 'failed'].find(
        (reason): reason is UnavailableReason => (error as Error).message === reason,
      ),
  };
  const failures: unknown[] = [];
  const group = new GroupCommit(
    batch,
    { queuedWritesMax: 100, batchWritesMax: 10 },
    (task) => setImmediate(task),
    (error) => failures.push(error),
  );
  const write = (name: string) =>
    group.submit(() => {
      state.pending.push(name);
      return Promise.resolve(name);
    });
  return { state, group, write, failures, fails };
}

describe('a commit that fails', () => {
  test('for lack of room refuses its whole batch, and the store goes on afterwards', async () => {
    const { state, group, write, failures, fails } = connection({ commit: 'disk-full' });
    const results = await Promise.allSettled([write('a'), write('b')]);
    expect(results).toMatchObject([
      { status: 'rejected', reason: { reason: 'disk-full', refusal: { status: 503 } } },
      { status: 'rejected', reason: { reason: 'disk-full' } },
    ]);
    expect([group.ready, failures.length]).toEqual([true, 0]);
    delete fails.commit;
    expect(await write('c')).toBe('c');
    expect(state.durable).toEqual(['c']);
  });

  test('in the disk itself ends the store for good, and its owner is told once', async () => {
    const { state, group, write, failures, fails } = connection({ commit: 'failed' });
    await expect(write('a')).rejects.toMatchObject({ reason: 'failed' });
    delete fails.commit;
    await expect(write('b')).rejects.toMatchObject({ reason: 'failed' });
    expect([group.ready, failures.length, state.durable]).toEqual([false, 1, []]);
  });
});
