import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { address } from '../../../gateway/ground/domain/units.js';
import { openDenyList } from '../../../gateway/money/payment/deny-list.js';
import { handClock } from '../../support/accounts.js';
import { silentLog } from '../../support/ports.js';
import { removeTemporaries, temporary } from '../../support/temporary.js';

removeTemporaries();

const A = address(`0x${'a1'.repeat(20)}`);
const B = address(`0x${'b2'.repeat(20)}`);

async function open(text: string) {
  const file = join(temporary(), 'denied');
  writeFileSync(file, text);
  const clock = handClock();
  const list = await openDenyList(file, { clock, log: silentLog });
  const denied = async () => {
    clock.move(5_000);
    const codes = [await list.objection(A), await list.objection(B)];
    return codes.map((refusal) => refusal?.code === 'payer_denied');
  };
  return { file, denied };
}

test('addresses count in any case, with comments and empty lines between them', async () => {
  const { denied } = await open(`# two\r\n\r\n${A.toUpperCase().replace('0X', '0x')} # one\r\n`);
  expect(await denied()).toEqual([true, false]);
});

test('a changed file counts; while it is missing or faulty, what it said before does', async () => {
  const { file, denied } = await open(`${A}\n`);
  writeFileSync(file, `${A}\n${B}\n`);
  expect(await denied()).toEqual([true, true]);
  writeFileSync(file, 'everybody, please');
  expect(await denied()).toEqual([true, true]);
  rmSync(file);
  expect(await denied()).toEqual([true, true]);
  writeFileSync(file, '');
  expect(await denied()).toEqual([false, false]);
});

test('a start with a list that cannot be read says which line is wrong', async () => {
  await expect(open(`${A}\n0x1234\n`)).rejects.toThrow('PAYER_DENY_FILE: line 2 is no address');
});
