import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openConsoleWorld, type ConsoleWorld } from '../../support/console.js';
import { joined, madeKey, signedUp, type Tab } from '../../support/tab.js';

let world: ConsoleWorld;
let admin: Tab;
let member: Tab;
let key: string;
let path: string;

beforeEach(async () => {
  world = await openConsoleWorld();
  admin = await signedUp(world, 'ada@example.org');
  member = await joined(world, admin, 'bob@example.org', 'member');
  ({ key } = await madeKey(member, 'script of bob'));
  path = `/console/team/members/${await world.personId('bob@example.org')}/remove`;
});
afterEach(() => world.close());

const works = async () => (await world.access.keys.authenticate(`Bearer ${key}`)).kind === 'caller';

test('removing somebody who made keys asks about the keys first, and removes nobody yet', async () => {
  const asked = await admin.post(path);
  expect(asked.text).toContain('Remove bob?');
  expect(asked.text).toContain('script of bob');
  expect(asked.text).toContain('They keep working until you revoke');
  expect((await member.get('/console/keys')).status).toBe(200);
});

test('their keys can be revoked in the same step, and are refused from then on', async () => {
  const done = await admin.sent(path, { keys: 'revoke' });
  expect(done.text).toContain('The member was removed. The key they created was revoked.');
  expect(await works()).toBe(false);
  expect((await member.get('/console/keys')).headers.get('location')).toBe('/console/start');
});

test('keys that are kept are named after the removal and can be revoked later', async () => {
  const { key: own } = await madeKey(admin, 'script of ada');
  const done = await admin.sent(path, { keys: 'keep' });
  expect(done.text).toContain('The key they created still works.');
  expect(await works()).toBe(true);
  const page = await admin.get('/console/keys');
  expect(page.text).toContain('action="/console/keys/revoke-former"');
  expect(page.text).toContain('a former member');

  const revoked = await admin.sent('/console/keys/revoke-former');
  expect(revoked.text).not.toContain('action="/console/keys/revoke-former"');
  expect(await works()).toBe(false);
  expect((await world.access.keys.authenticate(`Bearer ${own}`)).kind).toBe('caller');
});

test('whoever was removed finds a page to create an account, with the free credits of a first one', async () => {
  await admin.post(path, { keys: 'revoke' });
  const page = await member.get('/console/start');
  expect(page.text).toContain('You’re not in any account yet');
  expect((await member.post('/console/keys', { name: 'x' })).status).toBe(403);
  await member.post('/console/start');
  expect((await member.get('/console/billing')).text).toContain('Free credits at sign-up');
  expect((await member.get('/console/start')).headers.get('location')).toBe('/console');
});

test('an invitation of a stranger waits beside the button, and can be joined or left alone', async () => {
  await admin.post(path, { keys: 'revoke' });
  const mallory = await signedUp(world, 'mallory@example.org');
  await mallory.post('/console/team/invite', { email: 'bob@example.org', role: 'member' });
  const { text } = await member.get('/console/start');
  expect(text).toContain('Join mallory’s account');
  expect(text).toContain('Create an account');
  const id = /name="id" value="([\w-]+)"/.exec(text)?.[1] ?? '';
  expect((await member.post('/console/invitation', { id })).status).toBe(303);
  expect((await member.get('/console/keys')).text).toContain('mallory’s account');
});

test('leaving asks about the keys first, and revokes them where that is chosen', async () => {
  const asked = await member.post('/console/leave');
  expect(asked.text).toContain('Leave this account?');
  expect(asked.text).toContain('script of bob');
  expect((await member.get('/console/keys')).status).toBe(200);
  expect((await member.post('/console/leave', { keys: 'revoke' })).status).toBe(303);
  expect(await works()).toBe(false);
});

test('leaving with the keys kept lets them work, and the Admin sees whose they were', async () => {
  await member.post('/console/leave', { keys: 'keep' });
  expect(await works()).toBe(true);
  expect((await admin.get('/console/keys')).text).toContain('a former member');
});

test('leaving and founding again gives no second portion of free credits', async () => {
  const founder = await signedUp(world, 'carl@example.org');
  const heir = await joined(world, founder, 'dora@example.org', 'admin');
  await founder.post('/console/leave');
  expect((await heir.get('/console/team')).status).toBe(200);
  await founder.post('/console/start');
  const { status, text } = await founder.get('/console/billing');
  expect(status).toBe(200);
  expect(text).not.toContain('Free credits at sign-up');
});
