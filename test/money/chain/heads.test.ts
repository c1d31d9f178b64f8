import { describe, expect, test } from '@jest/globals';
import { createHeads } from '../../../gateway/money/chain/heads.js';
import { unixMillis } from '../../../gateway/ground/domain/units.js';
import { realClock } from '../../support/ports.js';

const TRUE_SECONDS = 1_800_000_000;

/** Heads as seen by a machine whose clock is wrong by this much. */
function headsWithClockOff(seconds: number) {
  const now = () => unixMillis((TRUE_SECONDS + seconds) * 1000);
  return createHeads<string>({ ...realClock, now });
}

const hex = (value: number): string => `0x${value.toString(16)}`;
const block = (number: number, seconds: number) => ({
  number: hex(number),
  hash: `0x${'ab'.repeat(32)}`,
  timestamp: hex(seconds),
});

describe('the newest blocks of several endpoints', () => {
  test.each([0, 3_600, -3_600])('make none suspicious when our clock is off by %i s', (off) => {
    const heads = headsWithClockOff(off);
    heads.saw('a', block(100, TRUE_SECONDS - 1));
    heads.saw('b', block(99, TRUE_SECONDS - 3));
    expect(heads.deviation('a', ['b'])).toBeUndefined();
    expect(heads.deviation('b', ['a'])).toBeUndefined();
  });

  test.each([600, -600])('make none suspicious when our clock is set by %i s in between', (by) => {
    let off = 0;
    const now = () => unixMillis((TRUE_SECONDS + off) * 1000);
    const heads = createHeads<string>({ ...realClock, now });
    heads.saw('a', block(100, TRUE_SECONDS - 1));
    off = by;
    heads.saw('b', block(100, TRUE_SECONDS - 1));
    expect(heads.deviation('a', ['b'])).toBeUndefined();
    expect(heads.deviation('b', ['a'])).toBeUndefined();
  });

  test('tell which one lags and which one claims the future, whoever is asked first', () => {
    const heads = headsWithClockOff(0);
    heads.saw('true', block(100, TRUE_SECONDS - 1));
    heads.saw('late', block(40, TRUE_SECONDS - 121));
    heads.saw('early', block(999_999, TRUE_SECONDS + 900));
    expect(heads.deviation('late', ['true', 'early'])).toContain('120 s behind');
    expect(heads.deviation('early', ['late', 'true'])).toContain('ahead of');
    expect(heads.deviation('true', ['late', 'early'])).toBeUndefined();
  });

  test('of one endpoint alone say only that its numbers went back while its time went on', () => {
    const heads = headsWithClockOff(0);
    expect(heads.saw('a', block(1_000, TRUE_SECONDS - 500))).toBeUndefined();
    expect(heads.saw('a', block(999, TRUE_SECONDS - 499))).toBeUndefined();
    expect(heads.saw('a', block(500, TRUE_SECONDS))).toContain('went back by 499');
    expect(heads.deviation('a', [])).toBeUndefined();
  });
});
