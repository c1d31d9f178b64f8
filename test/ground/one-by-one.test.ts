import { expect, test } from '@jest/globals';
import { OneByOne } from '../../gateway/ground/one-by-one.js';

/** An event loop whose rounds begin when the test says so. */
function rounds() {
  const tasks: (() => void)[] = [];
  return {
    defer: (task: () => void) => void tasks.push(task),
    next: () => {
      for (const task of tasks.splice(0)) task();
    },
    isIdle: () => tasks.length === 0,
  };
}

test('of a crowd one comes through in each round of the event loop, in the order of arrival', () => {
  const loop = rounds();
  const door = new OneByOne(loop);
  const through: number[] = [];
  for (const one of [1, 2, 3]) door.enter(() => through.push(one));
  for (const expected of [[1], [1, 2], [1, 2, 3]]) {
    expect(through).toEqual(expected);
    loop.next();
  }
  loop.next();
  expect(loop.isIdle()).toBe(true);
});

test('whoever comes alone does not wait', () => {
  const loop = rounds();
  const door = new OneByOne(loop);
  for (const one of [1, 2]) {
    const through: number[] = [];
    door.enter(() => through.push(one));
    expect(through).toEqual([one]);
    loop.next();
  }
});
