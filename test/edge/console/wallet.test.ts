import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openConsoleWorld, type ConsoleWorld } from '../../support/console.js';
import { PASSWORD } from '../../support/people.js';
import { openTab, signedUp, type Tab } from '../../support/tab.js';
import { addWallet, signedChallenge, someWallet } from '../../support/wallets.js';

let world: ConsoleWorld;
let ada: Tab;
beforeAll(async () => {
  world = await openConsoleWorld();
  ada = await signedUp(world, 'ada@example.org');
});
afterAll(() => world.close());

describe('signing in with a wallet', () => {
  test('opens a session of the wallet’s person, once for each signature', async () => {
    const wallet = someWallet();
    await addWallet(ada, wallet);
    const tab = openTab(world);
    const form = await signedChallenge(tab, wallet);
    const entered = await tab.post('/console/wallet/sign-in', { ...form, to: '/console/usage' });
    expect([entered.status, entered.headers.get('location')]).toEqual([303, '/console/usage']);
    expect((await tab.get('/console/profile')).text).toContain('ada@example.org');

    const replayed = await openTab(world).post('/console/wallet/sign-in', form);
    expect(replayed.status).toBe(400);
    expect(replayed.text).toContain('already used or has expired');
  });

  test('leads on to pages of the console only', async () => {
    const wallet = someWallet();
    await addWallet(ada, wallet);
    for (const to of ['https://evil.example', '//evil.example', '/search']) {
      const tab = openTab(world);
      const form = { ...(await signedChallenge(tab, wallet)), to };
      const { headers } = await tab.post('/console/wallet/sign-in', form);
      expect(headers.get('location')).toBe('/console');
    }
  });

  test('a wallet of nobody gets no account and no credits, but a place to sign up', async () => {
    const wallet = someWallet();
    const tab = openTab(world);
    const sent = await tab.post('/console/wallet/sign-in', await signedChallenge(tab, wallet));
    expect([sent.status, sent.headers.get('location')]).toEqual([303, '/console/sign-up']);
    expect((await tab.get('/console/keys')).status).toBe(303);
    expect((await tab.get('/console/sign-up')).text).toContain('No account uses this wallet yet');

    // The same browser confirms an address: an account with its credits, and the wallet with it.
    const email = 'grace@example.org';
    await tab.post('/console/sign-up', { name: 'Grace', email });
    const token = new URL(await world.linkTo(email)).searchParams.get('token') ?? '';
    expect((await tab.post('/console/verify', { token, password: PASSWORD })).status).toBe(303);
    expect((await tab.get('/console/profile')).text).toContain(wallet.address);
    expect((await tab.get('/console/billing')).text).toContain('Free credits at sign-up');

    const later = openTab(world);
    await later.post('/console/wallet/sign-in', await signedChallenge(later, wallet));
    expect((await later.get('/console/profile')).text).toContain(email);
  });

  test('a wallet shown in one browser is not given to who confirms an address in another', async () => {
    const wallet = someWallet();
    const attacker = openTab(world);
    await attacker.post('/console/wallet/sign-in', await signedChallenge(attacker, wallet));
    const email = 'victim@example.org';
    await attacker.post('/console/sign-up', { name: 'x', email });
    const token = new URL(await world.linkTo(email)).searchParams.get('token') ?? '';
    const victim = openTab(world);
    expect((await victim.post('/console/verify', { token, password: PASSWORD })).status).toBe(303);
    expect((await victim.get('/console/profile')).text).not.toContain(wallet.address);
  });

  test('what is no address, no nonce and no signature is refused in plain words', async () => {
    const tab = openTab(world);
    for (const address of ['', 'ada', `0x${'g'.repeat(40)}`, `0x${'ab'.repeat(21)}`]) {
      expect((await tab.post('/console/wallet/challenge', { address })).status).toBe(400);
    }
    const { nonce } = await signedChallenge(tab, someWallet());
    for (const form of [{}, { nonce: 'x' }, { nonce, signature: 'x' }] as Record<
      string,
      string
    >[]) {
      expect((await tab.post('/console/wallet/sign-in', form)).status).toBe(400);
    }
  });
});

test('a wallet that was removed signs in no more', async () => {
  const wallet = someWallet();
  await addWallet(ada, wallet);
  const { status } = await ada.post(`/console/profile/wallets/${wallet.address}/remove`);
  expect(status).toBe(303);
  const tab = openTab(world);
  const { headers } = await tab.post('/console/wallet/sign-in', await signedChallenge(tab, wallet));
  expect(headers.get('location')).toBe('/console/sign-up');
});

test('where wallets are switched off there is no button and no way in', async () => {
  const own = await openConsoleWorld({ hasWallets: false });
  try {
    const tab = openTab(own);
    expect((await tab.get('/console/sign-in')).text).not.toContain('wallet');
    const { address } = someWallet();
    expect((await tab.post('/console/wallet/challenge', { address })).status).toBe(404);
    expect((await tab.post('/console/wallet/sign-in')).status).toBe(404);
  } finally {
    await own.close();
  }
});
