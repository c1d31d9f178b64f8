import { describe, expect, test } from '@jest/globals';
import { createBatcher } from '../../gateway/payment/batch.js';

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
});
