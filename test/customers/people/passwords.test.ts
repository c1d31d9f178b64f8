import { describe, expect, test } from '@jest/globals';
import { passwordFault } from '../../../gateway/customers/people/passwords.js';

const EMAIL = 'ada.lovelace@engines.example';

describe('refused in one plain sentence', () => {
  test.each([
    '1234567890',
    '0987654321',
    '12345678910',
    '1111111111',
    'aaaaaaaaaaaaaaaa',
    'abababababab',
    'abcdefghij',
    'qwertyuiop',
    'asdfghjklö1',
    'qwerty123456',
    '1q2w3e4r5t',
    '1qaz2wsx3edc',
    'password12',
    'Password123!',
    'P@ssw0rd2026',
    'passwordpassword',
    'iloveyou123',
    'Welcome2026!',
    'letmein12345',
    'administrator1',
    'Summer-2026-!',
    'search402!!',
    '19840312-2026',
  ])('%s is too easy to guess', (password) => {
    expect(passwordFault(password, EMAIL)).toBe(
      'This password is too easy to guess. A few unrelated words in a row work well.',
    );
  });

  test.each([
    EMAIL,
    'ADA.lovelace@engines.example',
    'ada.lovelace',
    'lovelace-1815',
    'lovelace.engines',
    'engines123456',
  ])('%s is too similar to the person’s own address', (password) => {
    expect(passwordFault(password, EMAIL)).toContain('too similar to your email address');
  });

  test('one that is too short or too long, with the length', () => {
    expect(passwordFault('h7#kQ2z!x', EMAIL)).toBe('A password needs at least 10 characters.');
    expect(passwordFault('h7#kQ2z!xP'.repeat(13), EMAIL)).toContain('at most 128');
  });
});

test.each([
  'correct horse battery',
  'violet kettle harbour',
  'h7#kQ2z!xP',
  'my password is a walrus',
  'greatest-lighthouse-9',
  'Zähne putzen um acht',
  '83 lamps burn at dusk',
  '東京の灯台は夜に光ります',
])('%s is good', (password) => {
  expect(passwordFault(password, EMAIL)).toBeUndefined();
});
