import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import * as sdk from '../../sdk/typescript/src/index.js';
import { FileStore } from '../../sdk/typescript/src/node/index.js';
import { realRuntime, type Runtime } from '../../sdk/typescript/src/runtime.js';
import { startChannelGateway, type ChannelGateway } from '../support/channel-gateway.js';
import { clientWith } from '../support/sdk.js';
import { until } from '../support/until.js';

let gateway: ChannelGateway;
let directory: string;
let account: ReturnType<typeof privateKeyToAccount>;
beforeEach(async () => {
  gateway = await startChannelGateway();
  directory = mkdtempSync(join(tmpdir(), 'search402-channels-'));
  account = privateKeyToAccount(generatePrivateKey());
});
afterEach(async () => {
  await gateway.close();
  rmSync(directory, { recursive: true, force: true });
});

function client(payment: sdk.PaymentOptions = {}, options: sdk.ClientOptions = {}) {
  const store = new sdk.MemoryStore();
  const common = { baseUrl: gateway.url, logLevel: 'off', wallet: account } as const;
  return new sdk.Search402({ ...common, ...options, payment: { store, ...payment } });
}
const fileStore = () => new FileStore(join(directory, 'payments'));
const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
const ask = (name: string | number) => ({ query: `kestrel ${name}` });
/** Each voucher once, in the order of arrival. */
const values = () => [...new Set(gateway.presented.map(({ value }) => Number(value)))];

describe('choosing how to pay', () => {
  test('the first search is paid alone; the second opens a channel; each further one is a single request', async () => {
    const payer = client();
    const tries: number[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      const { tries: sent, payment } = await payer.searchWithResponse(ask(name));
      tries.push(sent);
      expect(payment).toMatchObject({ status: 'paid', amountUnits: 50n });
    }
    // The second one: the challenge, a voucher that asks for the channel, and the deposit.
    expect(tries).toEqual([2, 3, 1, 1]);
    expect(gateway.exact).toBe(1);
    expect(gateway.deposits).toEqual([50_000n]);
    expect(gateway.books).toMatchObject({ charged: 150n, signed: 150n });
    expect(await payer.payments.spent()).toEqual({ dayUnits: 50_050n, totalUnits: 50_050n });
    expect(await payer.channels.list()).toMatchObject([
      { status: 'open', balanceUnits: 50_000n, chargedUnits: 150n, leftUnits: 49_850n },
    ]);
    expect(await payer.payments.list()).toMatchObject([
      { amountUnits: 50n, status: 'paid' },
      { amountUnits: 50_000n, status: 'paid', transaction: `0x${'dd'.repeat(32)}` },
    ]);
  });

  test('a deposit above a cap is not signed: each search is paid alone', async () => {
    for (const caps of [{ maxDeposit: '0.04' }, { maxDeposit: '0' }, { maxPerDay: '0.05' }]) {
      const payer = client(caps);
      for (const name of ['a', 'b']) await payer.search(ask(name));
    }
    expect(gateway.exact).toBe(6);
    expect(gateway.deposits).toEqual([]);
  });

  test('a payee that is not on the list gets no deposit', async () => {
    const error = await failure(client({ payees: [account.address] }).channels.open());
    expect(error).toBeInstanceOf(sdk.PaymentError);
    expect(gateway.presented).toEqual([]);
  });

  test('the caller is asked about each search, and about the deposit', async () => {
    const asked: (bigint | undefined)[] = [];
    const payer = client({
      approve: ({ depositUnits }) => {
        asked.push(depositUnits);
        return asked.length < 4;
      },
    });
    await payer.channels.open();
    await payer.search(ask('a'));
    expect(asked).toEqual([undefined, 50_000n, undefined]);
    expect(await failure(payer.search(ask('b')))).toBeInstanceOf(sdk.PaymentError);
    expect(values()).toEqual([50, 100]);
    asked.length = 0;
    await payer.search(ask('c'));
    expect(values()).toEqual([50, 100, 150]);
  });
});

describe('a channel', () => {
  test('is opened on request, topped up when it is used up, and closed for the rest', async () => {
    gateway.terms = { extra: { ...(gateway.entry.extra as object), minDeposit: '100' } };
    const payer = client();
    const opened = await payer.channels.open({ deposit: 100n });
    expect(opened).toMatchObject({ balanceUnits: 100n, chargedUnits: 50n, leftUnits: 50n });
    for (const name of ['a', 'b', 'c']) await payer.search(ask(name));
    expect(gateway.deposits).toEqual([100n, 5_000n]);
    expect(gateway.books).toMatchObject({ charged: 200n, balance: 5_100n });
    const [closed] = await payer.channels.close();
    expect(closed).toMatchObject({ refundedUnits: 4_900n, channel: { status: 'closed' } });
    expect(gateway.books.balance).toBe(200n);
    // A search more opens it again.
    await payer.search(ask('d'));
    expect(gateway.books).toMatchObject({ charged: 250n, balance: 5_200n });
  });

  test('is closed by a client that has missed what was charged', async () => {
    const payer = client({}, { maxRetries: 0 });
    await payer.channels.open();
    gateway.hold = () => Promise.resolve('lose');
    await failure(payer.search(ask('a')));
    const [closed] = await payer.channels.close();
    expect(closed).toMatchObject({ refundedUnits: 49_900n, channel: { chargedUnits: 100n } });
  });

  test('answers 64 of 64 searches at once, in whatever order they end', async () => {
    const payer = client();
    await payer.channels.open();
    const before = gateway.presented.length;
    const held: (() => void)[] = [];
    gateway.hold = () =>
      new Promise((resolve) => {
        held.push(() => resolve('ok'));
        if (held.length < 64) return;
        // Every second one first, backwards.
        const isEven = (_: unknown, index: number) => index % 2 === 0;
        const odd = held.filter((one, index) => !isEven(one, index));
        for (const end of [...held.filter(isEven).reverse(), ...odd]) setImmediate(end);
      });
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, index) => payer.searchWithResponse(ask(index))),
    );
    expect(answers.map(({ tries }) => tries)).toEqual(Array(64).fill(1));
    expect(gateway.presented.length - before).toBe(64);
    expect(gateway.books).toMatchObject({ charged: 65n * 50n, signed: 65n * 50n });
    expect(gateway.exact).toBe(0);
  });

  test('is opened once, however many searches want it at the same time', async () => {
    const payer = client();
    await payer.search(ask('first'));
    await Promise.all(Array.from({ length: 20 }, (_, index) => payer.search(ask(index))));
    expect(gateway.deposits).toEqual([50_000n]);
    expect(gateway.books).toMatchObject({ charged: 1_000n, signed: 1_000n });
  });

  test('costs nothing for a search that fails, and the next one signs the same value', async () => {
    const payer = client({}, { maxRetries: 0 });
    await payer.channels.open();
    gateway.hold = () => Promise.resolve('fail');
    const error = await failure(payer.search(ask('a')));
    expect(error).toMatchObject({ status: 502, code: 'upstream_error' });
    gateway.hold = () => 'ok';
    await payer.search(ask('b'));
    expect(values()).toEqual([50, 100]);
    expect(gateway.books).toMatchObject({ charged: 100n, signed: 100n });
  });

  test('a deposit whose search failed goes out again with the next one, and counts once', async () => {
    const payer = client({}, { maxRetries: 0 });
    gateway.hold = () => Promise.resolve('fail');
    expect(await failure(payer.channels.open())).toMatchObject({ code: 'upstream_error' });
    gateway.hold = () => 'ok';
    await payer.channels.open();
    expect(await payer.payments.spent()).toMatchObject({ totalUnits: 50_000n });
    const deposits = gateway.presented.filter(({ type }) => type === 'deposit');
    expect(deposits).toHaveLength(2);
  });

  test('a search whose answer was lost is sent again with the same voucher, and charged once', async () => {
    const payer = client({ store: fileStore() }, { maxRetries: 0 });
    await payer.channels.open();
    gateway.hold = () => Promise.resolve('lose');
    expect(await failure(payer.search(ask('a')))).toBeInstanceOf(sdk.ConnectionError);
    expect(gateway.books.charged).toBe(100n);
    gateway.hold = () => 'ok';
    // Another process, with the same store.
    const later = client({ store: fileStore() });
    await later.search(ask('a'));
    expect(gateway.books).toMatchObject({ charged: 100n, signed: 100n });
    await later.search(ask('b'));
    expect(gateway.books).toMatchObject({ charged: 150n, signed: 150n });
    expect(values()).toEqual([50, 100, 150]);
  });

  test('resumes what was out when its process ended, and signs nothing new', async () => {
    const payer = client({ store: fileStore() }, { maxRetries: 0 });
    await payer.channels.open();
    gateway.hold = () => Promise.resolve('lose');
    await failure(payer.search(ask('a')));
    gateway.hold = () => 'ok';
    const { resumed, failures } = await client({ store: fileStore() }).payments.resume();
    expect([resumed.length, failures]).toEqual([1, []]);
    expect(resumed[0]?.payment).toMatchObject({ status: 'paid', amountUnits: 50n });
    expect(values()).toEqual([50, 100]);
    expect(await payer.channels.list()).toMatchObject([{ inFlight: 0, chargedUnits: 100n }]);
  });

  test('goes on at a new price', async () => {
    const payer = client();
    await payer.channels.open();
    gateway.terms = { amount: '70' };
    const { tries, payment } = await payer.searchWithResponse(ask('a'));
    expect([tries, payment?.amountUnits]).toEqual([2, 70n]);
    expect(gateway.books).toMatchObject({ charged: 120n, signed: 120n });
    expect((await payer.searchWithResponse(ask('b'))).tries).toBe(1);
  });

  test('does not hold a search up while the gateway cannot look at the chain', async () => {
    const payer = client();
    await payer.channels.open();
    gateway.isBlind = true;
    expect((await payer.searchWithResponse(ask('a'))).payment?.channelId).toBeUndefined();
    gateway.isBlind = false;
    expect((await payer.searchWithResponse(ask('b'))).tries).toBe(1);
    expect(gateway).toMatchObject({ exact: 1, books: { charged: 100n, signed: 100n } });
  });

  test('is not waited for when the process that asked for it has ended', async () => {
    const store = fileStore();
    const killed = client({ store }, { maxRetries: 0 });
    await killed.search(ask('first'));
    // It never hears what became of its first voucher.
    gateway.hold = () => new Promise(() => undefined);
    void killed.channels.open().catch(() => undefined);
    await until(() => gateway.presented.some(({ type }) => type === 'deposit'));
    gateway.hold = () => 'ok';
    const instant: Runtime = { ...realRuntime, sleep: () => Promise.resolve() };
    const options = { baseUrl: gateway.url, logLevel: 'off', wallet: account } as const;
    const other = clientWith(instant, { ...options, payment: { store: fileStore() } });
    await other.search(ask('a'));
    expect((await other.searchWithResponse(ask('b'))).payment?.channelId).toBeUndefined();
    expect(gateway.exact).toBe(3);
  });

  test('a wallet that refuses a deposit leaves nothing behind', async () => {
    let isWilling = false;
    const wallet = {
      address: account.address,
      signTypedData: (data: Parameters<typeof account.signTypedData>[0]) => {
        const isDeposit = data.primaryType === 'ReceiveWithAuthorization';
        if (isDeposit && !isWilling) return Promise.reject(new Error('no'));
        return account.signTypedData(data);
      },
    };
    const payer = client({}, { wallet });
    expect(await failure(payer.channels.open())).toBeInstanceOf(sdk.SigningError);
    expect(await payer.channels.list()).toMatchObject([{ inFlight: 0, balanceUnits: 0n }]);
    expect(await payer.payments.spent()).toMatchObject({ totalUnits: 0n });
    isWilling = true;
    expect(await payer.channels.open()).toMatchObject({ balanceUnits: 50_000n });
  });

  test('is shared by clients with one store, who never sign one value for two searches', async () => {
    await client({ store: fileStore() }).channels.open();
    const others = Array.from({ length: 4 }, () => client({ store: fileStore() }));
    await Promise.all(
      others.flatMap((payer, at) => [0, 1, 2, 3].map((no) => payer.search(ask(`${at} ${no}`)))),
    );
    const bodies = new Map<bigint, Set<string>>();
    for (const { value, body } of gateway.presented) {
      bodies.set(value, (bodies.get(value) ?? new Set()).add(body));
    }
    const [asked, ...rest] = bodies.values();
    // The voucher that asked for the channel went out again with its deposit.
    expect(asked?.size).toBe(1);
    expect(rest.every((one) => one.size === 1)).toBe(true);
    expect(gateway.books).toMatchObject({ charged: 850n, signed: 850n });
  });
});

describe('a client that lost its store', () => {
  test('goes on from its own signature, without a chain and without another deposit', async () => {
    const first = client();
    await first.channels.open();
    for (const name of ['a', 'b']) await first.search(ask(name));
    const second = client();
    await second.search(ask('c'));
    const { tries } = await second.searchWithResponse(ask('d'));
    // The challenge, a voucher that is refused, and one that fits.
    expect(tries).toBe(3);
    expect(gateway.deposits).toEqual([50_000n]);
    expect(gateway.books).toMatchObject({ charged: 200n, signed: 200n });
    expect((await second.searchWithResponse(ask('e'))).tries).toBe(1);
  });

  test('does not believe a charge that it never signed, and pays alone', async () => {
    await client().channels.open();
    gateway.books.charged = 10_000n;
    const second = client();
    await second.search(ask('a'));
    await second.search(ask('b'));
    expect(gateway.exact).toBe(2);
    expect(Math.max(...values())).toBe(50);
  });
});

describe('a gateway that takes no vouchers', () => {
  test('is paid search by search, and asked again for a channel later', async () => {
    const payer = client();
    await payer.channels.open();
    gateway.terms = { amount: '50', payTo: '0x2222222222222222222222222222222222222222' };
    // Another payee is another channel: this wallet has none with it.
    gateway.hold = () => Promise.resolve('ok');
    await payer.search(ask('a'));
    expect(gateway.channels.size).toBe(2);
  });
});
