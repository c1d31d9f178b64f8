import { describe, expect, test } from '@jest/globals';
import { countedNames } from '../../../gateway/customers/limits/address.js';
import { memoryLimits } from '../../../gateway/customers/limits/limits.js';
import { unpaidWork } from '../../../gateway/customers/limits/unpaid.js';
import { handClock } from '../../support/accounts.js';

/** One address may use 100 ms of processor and 20 questions a second, five seconds of it at once. */
const RATE = 100;
const ADDRESS = '192.0.2.1';

describe('work that nobody has paid for', () => {
  test('is done until an address owes more than five seconds of its allowance', () => {
    const clock = handClock();
    const work = unpaidWork(clock, RATE);
    work.bill(ADDRESS, { cpuMs: 500 });
    expect(work.objection(ADDRESS, 'nobody')).toBeUndefined();
    work.bill(ADDRESS, { cpuMs: 100 });
    expect(work.objection(ADDRESS, 'nobody')).toMatchObject({
      code: 'rate_limited',
      retryAfterSeconds: 1,
    });
    expect(work.objection('192.0.2.2', 'nobody')).toBeUndefined();
    clock.move(1000);
    expect(work.objection(ADDRESS, 'nobody')).toBeUndefined();
  });

  test('counts bytes as well', () => {
    const work = unpaidWork(handClock(), RATE);
    work.bill(ADDRESS, { bytes: 11_000_000 });
    expect(work.objection(ADDRESS, 'nobody')).toMatchObject({ code: 'rate_limited' });
  });

  test('holds up a neighbour with a key only when the address owes four times as much', () => {
    const work = unpaidWork(handClock(), RATE);
    work.bill(ADDRESS, { cpuMs: 1900 });
    expect(work.objection(ADDRESS, 'nobody')).toBeDefined();
    expect(work.objection(ADDRESS, 'key')).toBeUndefined();
    work.bill(ADDRESS, { cpuMs: 200 });
    expect(work.objection(ADDRESS, 'key')).toBeDefined();
  });

  test('of many /64s of one /48 is counted together, with a larger allowance', () => {
    const work = unpaidWork(handClock(), RATE);
    for (let index = 0; index < 100; index += 1) {
      work.bill(`2001:db8:7:${(index * 256).toString(16)}::1`, { cpuMs: 11 });
    }
    expect(work.objection('2001:db8:7:ffff::1', 'nobody')).toBeDefined();
    expect(work.objection('2001:db8:8:1::1', 'nobody')).toBeUndefined();
  });

  test('of everybody together leaves those alone who use little', () => {
    const work = unpaidWork(handClock(), RATE);
    for (let index = 1; index <= 30; index += 1) work.bill(`192.0.2.${index}`, { cpuMs: 100 });
    expect(work.objection('192.0.2.1', 'nobody')).toBeDefined();
    expect(work.objection('198.51.100.1', 'nobody')).toBeUndefined();
  });
});

test('questions to the chain are taken before they are asked, and given back when paid for', () => {
  const work = unpaidWork(handClock(), RATE);
  const allowance = work.chainAllowance(ADDRESS);
  let taken = 0;
  while (allowance.take(1) === undefined) taken += 1;
  expect(taken).toBe(101);
  expect(work.objection(ADDRESS, 'nobody')).toBeUndefined();
  allowance.giveBack();
  expect(work.chainAllowance(ADDRESS).take(1)).toBeUndefined();
});

test('an IPv6 address is counted with its /64, /56 and /48', () => {
  expect(countedNames('2001:db8:7:1234::1').map(({ name }) => name)).toEqual([
    '2001:db8:7:1234::/64',
    '2001:db8:7:1200::/56',
    '2001:db8:7::/48',
  ]);
  expect(countedNames('::ffff:192.0.2.1')).toEqual([{ name: '192.0.2.1', share: 1 }]);
});

test('65,536 /64s of one /48 are admitted at twice the rate of one', () => {
  const limits = memoryLimits(handClock(), { challengesPerSecond: 100 });
  let admitted = 0;
  for (let index = 0; index < 65_536; index += 1) {
    const { kind } = limits.admitAddress(`2001:db8:7:${index.toString(16)}::1`, 'challenge');
    if (kind === 'admitted') admitted += 1;
  }
  expect(admitted).toBe(200);
});
