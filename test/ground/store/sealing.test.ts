import { expect, test } from '@jest/globals';
import { sealingWith } from '../../../gateway/ground/store/sealing.js';
import { StoreUnusable } from '../../../gateway/ground/store/store.js';
import { realRandom } from '../../support/ports.js';

const sealing = sealingWith([new Uint8Array(32).fill(1)], realRandom);

test('a sealed secret opens under its name and key, and shows nothing of itself', () => {
  const sealed = sealing.seal('cookies', 'the secret');
  expect(sealed).not.toContain('the secret');
  expect(Buffer.from(sealed.slice(8), 'base64url').toString('latin1')).not.toContain('secret');
  expect(sealing.open('cookies', sealed)).toBe('the secret');
  expect(sealing.seal('cookies', 'the secret')).not.toBe(sealed);
});

test('another name, another key, or a changed letter opens nothing and says what to do', () => {
  const sealed = sealing.seal('cookies', 'the secret');
  const other = sealingWith([new Uint8Array(32).fill(2)], realRandom);
  const at = sealed.length - 20;
  const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
  for (const open of [
    () => sealing.open('oauth', sealed),
    () => other.open('cookies', sealed),
    () => sealing.open('cookies', changed),
    () => sealing.open('cookies', 'the secret'),
    () => sealing.open('cookies', ''),
  ]) {
    expect(open).toThrow(StoreUnusable);
    expect(open).toThrow(/same SEALING_KEY_FILE/);
  }
});
