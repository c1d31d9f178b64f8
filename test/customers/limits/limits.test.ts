import { describe, expect, test } from '@jest/globals';
import { addressName } from '../../../gateway/customers/limits/address.js';
import { rateHeaders } from '../../../gateway/customers/limits/admission.js';
import { memoryLimits } from '../../../gateway/customers/limits/limits.js';
import { Windows } from '../../../gateway/customers/limits/windows.js';
import { handClock } from '../../support/accounts.js';

const caller = (ratePerSecond: number, keyRate: number | null = null, name = 'a') => ({
  account: { id: name, ratePerSecond },
  key: { id: `key-${name}`, ratePerSecond: keyRate },
});

describe('rates of accounts and keys', () => {
  test('twenty of a hundred searches at once are admitted on a rate of twenty', async () => {
    const limits = memoryLimits(handClock());
    const answers = await Promise.all(Array.from({ length: 100 }, () => limits.admit(caller(20))));
    expect(answers.filter(({ kind }) => kind === 'admitted')).toHaveLength(20);
  });

  test('one account does not use up the rate of another', async () => {
    const limits = memoryLimits(handClock());
    await limits.admit(caller(1, null, 'a'));
    expect(await limits.admit(caller(1, null, 'a'))).toMatchObject({ kind: 'limited' });
    expect(await limits.admit(caller(1, null, 'b'))).toMatchObject({ kind: 'admitted' });
  });

  test('a key’s own rate bounds it without using up its account’s', async () => {
    const clock = handClock();
    const limits = memoryLimits(clock);
    expect(await limits.admit(caller(3, 1))).toMatchObject({ rate: { limit: 1, remaining: 0 } });
    for (let time = 0; time < 5; time++) {
      const refused = await limits.admit(caller(3, 1));
      expect(refused).toMatchObject({ kind: 'limited', rate: { limit: 1 } });
    }
    expect(await limits.admit(caller(3))).toMatchObject({ rate: { limit: 3, remaining: 1 } });
  });

  test('the headers state policy and state, and on a refusal when to come back', async () => {
    const limits = memoryLimits(handClock());
    expect(rateHeaders(await limits.admit(caller(2)))).toEqual({
      'RateLimit-Policy': '"search";q=2;w=1',
      RateLimit: '"search";r=1;t=1',
    });
    await limits.admit(caller(2));
    const refused = await limits.admit(caller(2));
    expect(rateHeaders(refused)).toEqual({
      'RateLimit-Policy': '"search";q=2;w=1',
      RateLimit: '"search";r=0;t=1',
      'Retry-After': '1',
    });
    expect(refused).toMatchObject({ refusal: { code: 'rate_limited', status: 429 } });
  });
});

describe('rates of addresses', () => {
  test('failed keys are limited for ten seconds; looking does not count', () => {
    const clock = handClock();
    const limits = memoryLimits(clock, { failedKeysPerWindow: 3 });
    for (let time = 0; time < 3; time++) {
      expect(limits.peekAddress('192.0.2.1', 'failed-key').kind).toBe('admitted');
      limits.admitAddress('192.0.2.1', 'failed-key');
    }
    expect(limits.peekAddress('192.0.2.1', 'failed-key')).toMatchObject({
      kind: 'limited',
      refusal: { retryAfterSeconds: 10 },
    });
    expect(limits.peekAddress('192.0.2.2', 'failed-key').kind).toBe('admitted');
    clock.move(10_000);
    expect(limits.peekAddress('192.0.2.1', 'failed-key').kind).toBe('admitted');
  });

  test('challenges and failed keys are counted apart', () => {
    const limits = memoryLimits(handClock(), { failedKeysPerWindow: 1, challengesPerSecond: 1 });
    expect(limits.admitAddress('192.0.2.1', 'failed-key').kind).toBe('admitted');
    expect(limits.admitAddress('192.0.2.1', 'challenge').kind).toBe('admitted');
    expect(limits.admitAddress('192.0.2.1', 'challenge').kind).toBe('limited');
  });

  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['not an address', 'unknown'],
    ['', 'unknown'],
  ])('the address %p is limited as %p', (text, name) => {
    expect(addressName(text)).toBe(name);
  });

  test('any number of addresses takes a bounded number of windows', () => {
    const windows = new Windows(1000, 100);
    for (let name = 0; name < 10_000; name++) windows.get(String(name), 5).take(name);
    expect(windows.size).toBe(100);
    expect(windows.get('9999', 5).remaining(9999)).toBe(4);
  });
});
