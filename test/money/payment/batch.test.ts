import { describe, expect, test } from '@jest/globals';
import { createBatcher } from '../../../gateway/money/payment/batch.js';

/** Work that ends when told, and remembers its batches. */
function heldWork() {
  const batches: (readonly number[])[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const work = (items: readonly number[]) => {
    batches.push(items);
    return new Promise<readonly number[]>((resolve, reject) => {
      ends.push((error) => {
        if (error) reject(error);
        else resolve(items.map((item) => item * 10));
      });
    });
  };
  return { batches, work, end: (index: number, error?: Error) => ends[index]?.(error) };
}

const limits = { batchMax: 4, queueMax: 8, runningMax: 2 };

/** Time that passes when told, and not before. */
function heldTime() {
  let nowMs = 0;
  const waking: { atMs: number; wake: () => void }[] = [];
  const clock = {
    monotonicMs: () => nowMs,
    sleep: (ms: number) =>
      new Promise<void>((wake) => void waking.push({ atMs: nowMs + ms, wake })),
  };
  const pass = async (ms: number) => {
    nowMs += ms;
    for (const { wake } of waking.filter(({ atMs }) => atMs <= nowMs)) wake();
    await new Promise(setImmediate);
  };
  return { clock, pass };
}

describe('a batcher', () => {
  test('starts at once when idle, and lets those who come meanwhile share the next round', async () => {
    const { batches, work, end } = heldWork();
    const submit = createBatcher(work, limits);
    const results = [1, 2, 3].map((item) => submit(item));
    expect(batches).toEqual([[1]]);
    end(0);
    expect(await results[0]).toBe(10);
    await Promise.resolve();
    expect(batches).toEqual([[1], [2, 3]]);
    end(1);
    expect([await results[0], await results[1], await results[2]]).toEqual([10, 20, 30]);
  });

  test('starts a second round beside the first only for a whole batch, and never a third', () => {
    const { batches, work } = heldWork();
    const submit = createBatcher(work, limits);
    for (let item = 1; item <= 4; item++) void submit(item);
    expect(batches).toEqual([[1]]);
    void submit(5);
    expect(batches).toEqual([[1], [2, 3, 4, 5]]);
    for (let item = 6; item <= 13; item++) void submit(item);
    expect(batches).toHaveLength(2);
  });

  test('turns items away when its queue is full', () => {
    const { work } = heldWork();
    const submit = createBatcher(work, { batchMax: 2, queueMax: 3, runningMax: 1 });
    const taken = [1, 2, 3, 4, 5].map((item) => submit(item) !== undefined);
    expect(taken).toEqual([true, true, true, true, false]);
  });

  test('fails the items of a failed round only, and goes on', async () => {
    const { work, end } = heldWork();
    const submit = createBatcher(work, limits);
    const first = submit(1);
    const second = submit(2);
    end(0, new Error('lost'));
    await expect(first).rejects.toThrow('lost');
    await Promise.resolve();
    end(1);
    expect(await second).toBe(20);
  });

  test('waits for company where items have lately come together, and for a lone one never', async () => {
    const { batches, work, end } = heldWork();
    const { clock, pass } = heldTime();
    const company = { clock, gatherMs: 50, expectMs: 6000 };
    const submit = createBatcher(work, { ...limits, company });
    void submit(1);
    expect(batches).toEqual([[1]]);
    end(0);
    await pass(100);
    void submit(2);
    void submit(3);
    void submit(4);
    end(1);
    await pass(100);
    expect(batches).toEqual([[1], [2], [3, 4]]);
    end(2);
    await pass(2000);
    void submit(5);
    await pass(49);
    void submit(6);
    expect(batches).toHaveLength(3);
    await pass(1);
    expect(batches[3]).toEqual([5, 6]);
    end(3);
    await pass(6000);
    void submit(7);
    expect(batches[4]).toEqual([7]);
  });

  test('waits for nobody when a whole batch has gathered', async () => {
    const { batches, work, end } = heldWork();
    const { clock, pass } = heldTime();
    const submit = createBatcher(work, {
      ...limits,
      company: { clock, gatherMs: 50, expectMs: 6000 },
    });
    for (const item of [1, 2, 3]) void submit(item);
    end(0);
    await pass(1);
    end(1);
    await pass(1);
    for (const item of [4, 5, 6]) void submit(item);
    expect(batches).toEqual([[1], [2, 3]]);
    void submit(7);
    expect(batches[2]).toEqual([4, 5, 6, 7]);
    await pass(50);
    expect(batches).toHaveLength(3);
  });
});
