/**
 * Attacks on people's accounts, over HTTP against the real console and its outbox. Each returns a
 * row of the table that `npm run attack` shows; `gotThrough` is 0 as long as the service holds.
 */
import { createHmac } from 'node:crypto';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { readOutbox } from '../../gateway/customers/people/mail.js';
import { MAILS_A_DAY_MAX } from '../../gateway/customers/people/mail-allowance.js';
import { openConsoleWorld, type ConsoleWorld } from '../support/console.js';
import { openTab, signedUp, type Tab } from '../support/tab.js';
import { until } from '../support/until.js';
import type { AttackRow } from './row.js';

const ATTACKER = 'the planted password 77';
const VICTIM = 'violet kettle harbour';

/** The mails to an address, newest first. */
async function mailsTo({ store }: ConsoleWorld, email: string): Promise<readonly string[]> {
  const mails = await readOutbox(store);
  return mails.filter(({ to }) => to === email).map(({ text }) => text);
}

/** The newest confirmation link, once there are `count` mails or nothing more comes. */
async function confirmationOf(world: ConsoleWorld, email: string): Promise<string> {
  await until(async () => (await mailsTo(world, email)).some((text) => text.includes('/verify?')));
  const mail = (await mailsTo(world, email)).find((text) => text.includes('/verify?')) ?? '';
  return /https?:\S+/.exec(mail)?.[0] ?? '';
}

/** Opens the newest confirmation link in a fresh browser and fills in all that the page may ask. */
async function confirmed(world: ConsoleWorld, email: string, password: string): Promise<Tab> {
  const link = new URL(await confirmationOf(world, email));
  const tab = openTab(world);
  const form = { ...Object.fromEntries(link.searchParams), name: 'Victim', password };
  const answer = await tab.post('/console/verify', form);
  if (answer.status !== 303) throw new Error(`the victim could not confirm: ${answer.text}`);
  return tab;
}

const signUp = (tab: Tab, email: string, password: string, more: Record<string, string> = {}) =>
  tab.post('/console/sign-up', { name: 'x', email, password, ...more });
const signIn = (tab: Tab, email: string, password: string) =>
  tab.post('/console/sign-in', { email, password });
/** Whoever is not is led to sign in; whoever has no account, to found one. */
const isSignedIn = async (tab: Tab) =>
  (await tab.get('/console')).headers.get('location')?.startsWith('/console/sign-in') !== true;
const isIn = async (tab: Tab) => (await tab.get('/console/keys')).status === 200;

/** Waits for mail that is on its way: it is sent in the background. */
async function settled(world: ConsoleWorld, email: string, atLeast: number): Promise<void> {
  for (let tries = 0; tries < 25; tries++) {
    if ((await mailsTo(world, email)).length >= atLeast) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Ways to plant a password before the owner of an address confirms it. */
const PLANTS: Readonly<Record<string, (world: ConsoleWorld, email: string) => Promise<void>>> = {
  'signs up first, then fails to sign in': async (world, email) => {
    await signUp(openTab(world), email, ATTACKER);
    await settled(world, email, 1);
    await signUp(openTab(world), email, VICTIM);
    await settled(world, email, 2);
    await signIn(openTab(world), email, ATTACKER);
    await settled(world, email, 3);
  },
  'signs up last': async (world, email) => {
    await signUp(openTab(world), email, VICTIM);
    await settled(world, email, 1);
    await signUp(openTab(world), email, ATTACKER);
    await settled(world, email, 2);
  },
  'signs up before an invitation does': async (world, email) => {
    await signUp(openTab(world), email, ATTACKER);
    await settled(world, email, 1);
    const admin = await signedUp(world, `admin-of-${email}`);
    await admin.post('/console/team/invite', { email, role: 'admin' });
    await settled(world, email, 2);
    const invitation = /invitation\?id=([\w-]+)/.exec((await mailsTo(world, email)).join())?.[1];
    await signUp(openTab(world), email, VICTIM, { invitation: invitation ?? '' });
    await settled(world, email, 3);
    await signIn(openTab(world), email, ATTACKER);
    await settled(world, email, 4);
  },
};

/** Account pre-hijacking: the attacker's password must not work once the victim has confirmed. */
export async function hijackBeforeConfirmation(): Promise<AttackRow> {
  const world = await openConsoleWorld();
  let gotThrough = 0;
  try {
    for (const [index, plant] of Object.values(PLANTS).entries()) {
      const email = `victim${index}@example.org`;
      await plant(world, email);
      const victim = await confirmed(world, email, VICTIM);
      if (!(await isSignedIn(victim))) throw new Error('the victim is not signed in');
      const attacker = openTab(world);
      await signIn(attacker, email, ATTACKER);
      if (attacker.cookies.size > 0) gotThrough += 1;
      await signIn(victim, email, VICTIM);
      if (victim.cookies.size === 0) throw new Error('the victim’s own password does not work');
    }
  } finally {
    await world.close();
  }
  return {
    attack: 'Plant a password before the owner of an address confirms it',
    tries: Object.keys(PLANTS).length,
    gotThrough,
    costToAttacker: 'two forms',
    costToUs: 'one mail for each sign-up',
    note: 'Whoever opens the mailed link sets the password. Nothing typed before counts.',
  };
}

/** Strangers are invited, removed or forgotten: each must end with an account of their own. */
export async function lockStrangersOut(): Promise<AttackRow> {
  const world = await openConsoleWorld();
  let gotThrough = 0;
  const stuck = async (tab: Tab) => {
    if (await isIn(tab)) return;
    await tab.post('/console/start');
    if (!(await isIn(tab))) gotThrough += 1;
  };
  try {
    const admin = await signedUp(world, 'mallory@example.org');
    const invite = async (email: string) => {
      await admin.post('/console/team/invite', { email, role: 'member' });
      await settled(world, email, 1);
      return /invitation\?id=([\w-]+)/.exec((await mailsTo(world, email)).join())?.[1] ?? '';
    };
    // Invited by a stranger, signs up without knowing of it.
    await invite('stranger@example.org');
    await signUp(openTab(world), 'stranger@example.org', VICTIM);
    await stuck(await confirmed(world, 'stranger@example.org', VICTIM));
    // The invitation is cancelled between sign-up and confirmation.
    const cancelled = await invite('cancelled@example.org');
    await signUp(openTab(world), 'cancelled@example.org', VICTIM, { invitation: cancelled });
    const late = await confirmed(world, 'cancelled@example.org', VICTIM);
    await admin.post(`/console/team/invitations/${cancelled}/cancel`);
    await stuck(late);
    // Joins and is removed.
    const joined = await invite('removed@example.org');
    await signUp(openTab(world), 'removed@example.org', VICTIM, { invitation: joined });
    const removed = await confirmed(world, 'removed@example.org', VICTIM);
    await removed.post('/console/invitation', { id: joined });
    const id = await world.personId('removed@example.org');
    await admin.post(`/console/team/members/${id}/remove`);
    await stuck(removed);
  } finally {
    await world.close();
  }
  return {
    attack: 'Invite, cancel or remove a stranger, who then belongs to no account',
    tries: 3,
    gotThrough,
    costToAttacker: 'one invitation',
    costToUs: 'one mail',
    note: 'Whoever confirmed an address and is in no account can create one.',
  };
}

/** better-auth's cookie: the session's token and an HMAC-SHA-256 of it. */
function sessionCookie(token: string, secret: string): string {
  const signature = createHmac('sha256', secret).update(token).digest('base64');
  return encodeURIComponent(`${token}.${signature}`);
}

/** Another local user takes a copy of the database and makes the operator's session of it. */
export async function forgeSessionFromCopy(): Promise<AttackRow> {
  const folder = await mkdtemp(join(tmpdir(), 'search402-copy-'));
  const operatorEmails = ['olga@example.org'];
  const world = await openConsoleWorld({ location: join(folder, 'live.db'), operatorEmails });
  const answers: number[] = [];
  try {
    const operator = await signedUp(world, 'olga@example.org');
    if ((await operator.get('/console/operator')).status !== 200) throw new Error('no operator');
    await operator.post('/console/forgot', { email: 'olga@example.org' });
    await settled(world, 'olga@example.org', 2);
    for (const suffix of ['', '-wal']) {
      await copyFile(join(folder, `live.db${suffix}`), join(folder, `copy.db${suffix}`));
    }
    const copy = new Database(join(folder, 'copy.db'));
    const texts = (query: string) =>
      (copy.prepare(query).all([]) as Record<string, string>[]).flatMap((row) =>
        Object.values(row),
      );
    const tokens = texts('select token from sessions');
    const secrets = texts('select value from service_secrets');
    const resets = texts('select identifier from verifications');
    copy.close();
    if (tokens.length === 0 || secrets.length === 0) throw new Error('nothing to forge with');
    for (const token of tokens) {
      for (const secret of ['', ...secrets]) {
        const cookies = new Map([['search402.session_token', sessionCookie(token, secret)]]);
        answers.push((await openTab(world, cookies).get('/console/operator')).status);
      }
    }
    for (const reset of resets) {
      const token = reset.replace(/^reset-password:/, '');
      const sent = await openTab(world).post('/console/reset', { token, password: ATTACKER });
      answers.push(sent.status);
    }
  } finally {
    await world.close();
    await rm(folder, { recursive: true, force: true });
  }
  return {
    attack: 'Forge the operator’s session, or reset a password, from a copy of the database',
    tries: answers.length,
    gotThrough: answers.filter((status) => status === 200).length,
    costToAttacker: 'a copy of the database (a stolen backup)',
    costToUs: 'nothing',
    note: 'Tokens are stored as hashes, secrets sealed by a key that is not in the database.',
  };
}

const STRANGER_TRIES = 24;

/** A stranger tries passwords and asks for mails, so that the owner cannot sign in and is flooded. */
export async function lockOwnerOut(): Promise<AttackRow> {
  const world = await openConsoleWorld({ trustedProxies: 1 });
  const email = 'owner@example.org';
  let gotThrough = 0;
  let mails = 0;
  try {
    const owner = await signedUp(world, email, { 'x-forwarded-for': '198.51.100.1' });
    const before = (await mailsTo(world, email)).length;
    for (let tries = 0; tries < STRANGER_TRIES; tries++) {
      // Several addresses: one alone would be bounded by itself.
      const from = { 'x-forwarded-for': `203.0.113.${tries % 8}` };
      const tab = openTab(world, new Map(), from);
      await signIn(tab, email, ATTACKER);
      if (tries % 2 === 0) await tab.post('/console/forgot', { email });
      else await signUp(tab, email, ATTACKER);
    }
    await settled(world, email, before + STRANGER_TRIES);
    mails = (await mailsTo(world, email)).length - before;
    const again = openTab(world, new Map(), { 'x-forwarded-for': '198.51.100.1' });
    await signIn(again, email, VICTIM);
    await signIn(again, email, PASSWORD_OF_SIGNED_UP);
    if (again.cookies.size === 0) gotThrough += 1;
    if (!(await isIn(owner))) gotThrough += 1;
    if (mails > MAILS_A_DAY_MAX) gotThrough += 1;
  } finally {
    await world.close();
  }
  return {
    attack: 'Lock an owner out by wrong passwords, and flood the mailbox',
    tries: STRANGER_TRIES * 2,
    gotThrough,
    costToAttacker: `${STRANGER_TRIES * 2} forms from 8 addresses`,
    costToUs: `${mails} mails`,
    note: 'Tries count by address and e-mail together. Mails to one address are capped.',
  };
}

const PASSWORD_OF_SIGNED_UP = 'correct horse battery';
