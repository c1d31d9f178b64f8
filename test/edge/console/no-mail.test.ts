import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readOutbox } from '../../../gateway/customers/people/mail.js';
import { openConsoleWorld, type ConsoleWorld } from '../../support/console.js';
import { openTab, signedUp, type Tab } from '../../support/tab.js';

let world: ConsoleWorld;
let admin: Tab;
beforeAll(async () => {
  // A real chain without SMTP_URL: mail is not sent, and nobody may read the outbox.
  world = await openConsoleWorld({
    isOutboxShown: false,
    operatorEmails: ['olga@example.org'],
    warnings: ['SMTP_URL is not set: no mail is sent.'],
  });
  admin = await signedUp(world, 'olga@example.org');
});
afterAll(() => world.close());

test.each([
  ['/console/sign-up', { name: 'Ada', email: 'ada@example.org' }],
  ['/console/forgot', { email: 'olga@example.org' }],
])('%s does not say that a mail is on its way', async (path, form) => {
  const { status, text } = await openTab(world).post(path, form);
  expect(status).toBe(503);
  expect(text).toContain('This service can’t send email yet');
  expect(text).not.toMatch(/on its way|Check your email|We sent/);
});

test('an invitation says how the invited person learns of it', async () => {
  const form = { email: 'bob@example.org', role: 'member' };
  const { text } = await admin.sent('/console/team/invite', form);
  expect(text).toContain('can’t send email yet');
  expect(text).not.toContain('We sent');
});

test('the operator’s page names what is missing', async () => {
  expect((await admin.get('/console/operator')).text).toContain('SMTP_URL is not set');
});

test('the mails themselves stay in the database', async () => {
  const mails = await readOutbox(world.store);
  expect(mails.map(({ to }) => to)).toContain('ada@example.org');
});
