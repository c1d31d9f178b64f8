import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Kysely } from 'kysely';
import { prunePeople } from '../../../gateway/customers/people/prune.js';
import type { PeopleTables } from '../../../gateway/customers/people/schema.js';
import {
  openWallets,
  removeWallets,
  type Wallets,
} from '../../../gateway/customers/people/wallets.js';
import { handClock } from '../../support/accounts.js';
import { ENGINES, engineOf } from '../../support/engines.js';
import {
  browser,
  givenPerson,
  openPeopleWorld,
  PASSWORD,
  personId,
  type PeopleWorld,
} from '../../support/people.js';
import { realRandom } from '../../support/ports.js';
import { keyWalletProof, someWallet } from '../../support/wallets.js';

const URL = 'https://search.example';
type Wallet = ReturnType<typeof someWallet>;

describe.each(ENGINES)('on %s', (name) => {
  let world: PeopleWorld;
  let clock: ReturnType<typeof handClock>;
  let wallets: Wallets;
  let ada: string;
  let eve: string;
  const engine = engineOf(name);
  const at = (who: string) => `${who}@wallets.example`;
  const walletsAt = (publicUrl: string) => {
    const { store, mailer } = world;
    const parts = { store, mailer, clock, random: realRandom, publicUrl };
    return openWallets(parts, keyWalletProof(publicUrl));
  };

  beforeAll(async () => {
    await engine.start();
    world = await openPeopleWorld(engine.location());
    for (const who of ['ada', 'eve']) await givenPerson(world, at(who));
    ada = await personId(world.store, at('ada'));
    eve = await personId(world.store, at('eve'));
  });
  afterAll(async () => {
    await world.mailer.drain();
    await world.close();
    await engine.stop();
  });
  beforeEach(async () => {
    for (const person of [ada, eve]) await removeWallets(world.store, person);
    await world.store.write((tx: Kysely<PeopleTables>) =>
      tx.deleteFrom('mail_allowances').execute(),
    );
    clock = handClock(Date.now());
    wallets = walletsAt(URL);
  });

  /** What a wallet signs: the message as it came, or as a test changes it. */
  const signed = async (
    wallet: Wallet,
    {
      person,
      change = (text) => text,
    }: { person?: string; change?: (text: string) => string } = {},
  ) => {
    const { nonce, message } = await wallets.challenge(wallet.address, person);
    return { nonce, signature: await wallet.account.signMessage({ message: change(message) }) };
  };
  const added = async (wallet = someWallet()) => {
    expect(await wallets.add(ada, await signed(wallet, { person: ada }))).toEqual({
      kind: 'added',
      address: wallet.address,
    });
    return wallet;
  };

  test('no more wallets are linked in a day than mails may tell of', async () => {
    for (let each = 0; each < 8; each += 1) {
      const { address } = await added();
      await wallets.remove(ada, address);
    }
    const more = await wallets.add(ada, await signed(someWallet(), { person: ada }));
    expect(more).toMatchObject({ kind: 'no', message: expect.stringContaining('120 minutes') });
    expect(await wallets.list(ada)).toEqual([]);
    clock.move(2 * 3600 * 1000);
    await added();
  });

  test('a wallet that a person added signs that person in, and a mail says that it can', async () => {
    const wallet = await added();
    expect((await world.mailTo(at('ada'))).text).toContain(wallet.address);
    expect(await wallets.signIn(await signed(wallet))).toEqual({ kind: 'person', personId: ada });
    const entered = await world.people.enter(ada, browser());
    if (entered.kind !== 'done') throw new Error(entered.message);
    const session = await world.people.session(browser(entered.cookies));
    expect(session?.person.email).toBe(at('ada'));
  });

  test('one signature signs in once, also when two browsers present it at the same moment', async () => {
    const proof = await signed(await added());
    const both = await Promise.all([wallets.signIn(proof), wallets.signIn(proof)]);
    expect(both.map(({ kind }) => kind).sort()).toEqual(['no', 'person']);
    expect((await wallets.signIn(proof)).kind).toBe('no');
  });

  test.each([
    ['another domain', (text: string) => text.replace(/^\S+/, 'evil.example')],
    ['another chain', (text: string) => text.replace('Chain ID: 8453', 'Chain ID: 1')],
    [
      'another address',
      (text: string) => text.replace(/0x[0-9a-fA-F]{40}/, someWallet().account.address),
    ],
    ['another nonce', (text: string) => text.replace(/Nonce: \w+/, 'Nonce: 0123456789abcdef')],
    ['a later end', (text: string) => text.replace(/(Expiration Time: )\d{4}/, '$12099')],
  ])('a signature for %s is refused, and the challenge is spent', async (_, change) => {
    const wallet = await added();
    const { nonce, signature } = await signed(wallet, { change });
    expect((await wallets.signIn({ nonce, signature })).kind).toBe('no');
    expect((await wallets.signIn({ nonce, signature })).kind).toBe('no');
  });

  test('what another installation asked for is worth nothing here', async () => {
    const wallet = await added();
    const { nonce, message } = await walletsAt('https://evil.example').challenge(wallet.address);
    const signature = await wallet.account.signMessage({ message });
    expect((await wallets.signIn({ nonce, signature })).kind).toBe('no');
  });

  test('another wallet’s signature under one’s challenge is refused', async () => {
    const wallet = await added();
    const { nonce, message } = await wallets.challenge(wallet.address);
    const signature = await someWallet().account.signMessage({ message });
    expect((await wallets.signIn({ nonce, signature })).kind).toBe('no');
  });

  test('a challenge is good for ten minutes, and what nobody answered is deleted', async () => {
    const wallet = await added();
    const proof = await signed(wallet);
    await signed(wallet);
    clock.move(10 * 60_000);
    expect((await wallets.signIn(proof)).kind).toBe('no');
    clock.move(1);
    await prunePeople(world.store, clock);
    const left = await world.store.read((db: Kysely<PeopleTables>) =>
      db.selectFrom('wallet_claims').selectAll().where('address', '=', wallet.address).execute(),
    );
    expect(left).toEqual([]);
  });

  test('a signature to sign in adds no wallet, one to add it signs nobody in, for others neither', async () => {
    const wallet = someWallet();
    expect((await wallets.add(ada, await signed(wallet))).kind).toBe('no');
    expect((await wallets.signIn(await signed(wallet, { person: ada }))).kind).toBe('no');
    expect((await wallets.add(eve, await signed(wallet, { person: ada }))).kind).toBe('no');
    expect(await wallets.list(ada)).toEqual([]);
    expect(await wallets.list(eve)).toEqual([]);
  });

  test('a wallet signs one person in, and at most five do', async () => {
    const wallet = await added();
    expect(await wallets.add(eve, await signed(wallet, { person: eve }))).toMatchObject({
      kind: 'no',
      message: expect.stringContaining('linked to another person'),
    });
    await added(wallet);
    for (let more = 0; more < 4; more++) await added();
    expect((await wallets.add(ada, await signed(someWallet(), { person: ada }))).kind).toBe('no');
    expect(await wallets.list(ada)).toHaveLength(5);
  });

  test('a wallet that was removed is a stranger again; nobody removes another’s', async () => {
    const wallet = await added();
    expect(await wallets.remove(eve, wallet.address)).toBe('not-found');
    expect(await wallets.remove(ada, wallet.address)).toBe('removed');
    expect((await wallets.signIn(await signed(wallet))).kind).toBe('stranger');
  });

  test('a wallet of nobody founds no account: its ticket is for whoever confirms an address', async () => {
    const wallet = someWallet();
    const answer = await wallets.signIn(await signed(wallet));
    if (answer.kind !== 'stranger') throw new Error(answer.kind);
    const both = await Promise.all([
      wallets.addProved(ada, answer.ticket),
      wallets.addProved(ada, answer.ticket),
    ]);
    expect(both.map(({ kind }) => kind).sort()).toEqual(['added', 'no']);
    expect((await wallets.list(ada)).map((one) => one.address)).toEqual([wallet.address]);
    const late = await wallets.signIn(await signed(someWallet()));
    if (late.kind !== 'stranger') throw new Error(late.kind);
    clock.move(3600_000);
    expect((await wallets.addProved(ada, late.ticket)).kind).toBe('no');
  });

  test('a new password by mail takes off every wallet', async () => {
    const wallet = await added();
    await world.people.forgot(at('ada'), browser());
    const token = await world.linkOf(at('ada'), 'token');
    expect((await world.people.reset(token, `${PASSWORD} again`, browser())).kind).toBe('done');
    expect((await wallets.signIn(await signed(wallet))).kind).toBe('stranger');
  });
});
