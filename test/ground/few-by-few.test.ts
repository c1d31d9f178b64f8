import { expect, test } from '@jest/globals';
import { FewByFew } from '../../gateway/ground/few-by-few.js';

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

test.each([
  [1, [[1], [1, 2], [1, 2, 3]]],
  [
    2,
    [
      [1, 2],
      [1, 2, 3],
    ],
  ],
])('of a crowd %i come through in each round, in the order of arrival', (perRound, seen) => {
  const loop = rounds();
  const door = new FewByFew(loop, perRound);
  const through: number[] = [];
  for (const one of [1, 2, 3]) door.enter(() => through.push(one));
  for (const expected of seen) {
    expect(through).toEqual(expected);
    loop.next();
  }
  loop.next();
  expect(loop.isIdle()).toBe(true);
});

test('whoever comes alone does not wait', () => {
  const loop = rounds();
  const door = new FewByFew(loop, 1);
  for (const one of [1, 2]) {
    const through: number[] = [];
    door.enter(() => through.push(one));
    expect(through).toEqual([one]);
    loop.next();
  }
});

test('whoever comes while a crowd waits comes after it', () => {
  const loop = rounds();
  const door = new FewByFew(loop, 2);
  const through: number[] = [];
  for (const one of [1, 2, 3]) door.enter(() => through.push(one));
  loop.next();
  for (const one of [4, 5]) door.enter(() => through.push(one));
  expect(through).toEqual([1, 2, 3, 4]);
  loop.next();
  expect(through).toEqual([1, 2, 3, 4, 5]);
});
