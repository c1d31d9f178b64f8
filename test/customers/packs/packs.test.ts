import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { wrapFetchWithPayment } from '@x402/fetch';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expectRefusal } from '../../support/errors.js';
import {
  askAsWallet,
  challengeOf,
  postPacks,
  signForPack,
  signIn,
  type BoughtPack,
} from '../../support/packs.js';
import { devClient, receiptOf, signPayment, transfersToPayee } from '../../support/pay.js';
import { startTestService, type TestService } from '../../support/service.js';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ env: { PACKS: '1000,10=0.002' } });
}, 60_000);
afterAll(() => service.stop());

const payer = () => privateKeyToAccount(service.dev.payerPrivateKey as `0x${string}`);
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const creditsOf = async (key: string) => {
  const response = await fetch(`${service.gatewayUrl}/account`, { headers: bearer(key) });
  return ((await response.json()) as { credits: unknown }).credits;
};
const buy = async (searches = 10): Promise<{ payment: string; text: string } & BoughtPack> => {
  const payment = await signForPack(service, { searches });
  const reply = await postPacks(service, { 'payment-signature': payment }, { searches });
  const text = await reply.text();
  expect([reply.status, text]).toEqual([200, expect.stringContaining('s402_live_')]);
  return { payment, text, ...(JSON.parse(text) as BoughtPack) };
};

/** The same payment with another ticket, as somebody would make it who read it off the chain. */
function readOffTheChain(payment: string, ticket: unknown): string {
  const payload = JSON.parse(Buffer.from(payment, 'base64').toString()) as {
    accepted: { extra: Record<string, unknown> };
  };
  payload.accepted.extra.ticket = ticket;
  return Buffer.from(JSON.stringify(payload)).toString('base64');
}

describe('a pack', () => {
  test('is bought by @x402/fetch for the stated price, and its key searches on every way in', async () => {
    const pay = wrapFetchWithPayment(fetch, devClient(service));
    const response = await pay(`${service.gatewayUrl}/packs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect(response.status).toBe(200);
    const { key, pack } = (await response.json()) as BoughtPack;
    expect(pack).toMatchObject({ searches: 1000, amountUsd: '0.05' });
    expect(receiptOf(response)).toMatchObject({ success: true, amount: '50000' });
    const available = (left: number) => ({
      granted: 1000,
      available: left,
      held: 0,
      spent: 1000 - left,
    });
    expect(await creditsOf(key)).toEqual(available(1000));
    expect((await service.search({ query: 'lamp' }, bearer(key))).status).toBe(200);
    const api = await service.search({ query: 'lamp' }, bearer(key), { url: service.apiUrl });
    expect(api.status).toBe(200);
    const call = { name: 'search', arguments: { query: 'lamp' } };
    const tool = await fetch(`${service.gatewayUrl}/mcp`, {
      method: 'POST',
      headers: {
        ...bearer(key),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-06-18',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
    });
    expect([tool.status, await tool.text()]).toEqual([
      200,
      expect.stringContaining('pages.example'),
    ]);
    expect(await creditsOf(key)).toEqual(available(997));
  }, 60_000);

  test('is one key and one transfer, however often and at once its payment comes', async () => {
    const before = await transfersToPayee(service);
    const payment = await signForPack(service, { searches: 10 });
    const send = async () => {
      const reply = await postPacks(service, { 'payment-signature': payment }, { searches: 10 });
      const { headers } = reply;
      return [reply.status, await reply.text(), headers.get('x-request-id'), receiptOf(reply)];
    };
    const replies = await Promise.all(Array.from({ length: 32 }, send));
    replies.push(await send());
    expect(new Set(replies.map((reply) => JSON.stringify(reply))).size).toBe(1);
    expect(replies[0]?.[0]).toBe(200);
    expect((await transfersToPayee(service)).length - before.length).toBe(1);
  });

  test('gives its key to nobody who read the settled payment off the chain', async () => {
    const { payment, key } = await buy();
    for (const ticket of ['A'.repeat(22), undefined, '', 7]) {
      const stolen = readOffTheChain(payment, ticket);
      const reply = await postPacks(service, { 'payment-signature': stolen }, { searches: 10 });
      expect([reply.status, await reply.text()]).toEqual([402, expect.not.stringContaining(key)]);
    }
  });

  test('gives its key to nobody who presents its payment beside the buyer, with another ticket', async () => {
    const payment = await signForPack(service, { searches: 10 });
    const stolen = readOffTheChain(payment, 'A'.repeat(22));
    const replies = await Promise.all(
      [payment, stolen, payment, stolen].map(async (header) => {
        const reply = await postPacks(service, { 'payment-signature': header }, { searches: 10 });
        return [reply.status, (await reply.text()).includes('s402_live_')];
      }),
    );
    expect(replies).toEqual([
      [200, true],
      [402, false],
      [200, true],
      [402, false],
    ]);
  });

  test('is bound: a search’s payment buys no pack, and a pack’s no search and no other pack', async () => {
    const { payment } = await buy();
    const header = { 'payment-signature': payment };
    await expectRefusal(
      await postPacks(service, header, { searches: 1000 }),
      'authorization_bound_to_other_request',
    );
    expect((await service.search({ query: 'lamp' }, header)).status).toBe(402);
    const search = { 'payment-signature': await signPayment(service, { query: 'bread' }) };
    expect((await postPacks(service, search, { searches: 10 })).status).toBe(402);
    expect((await service.search({ query: 'bread' }, search)).status).toBe(200);
    expect((await postPacks(service, search, { searches: 10 })).status).toBe(402);
  });

  test('refuses sizes that are not on sale, keys, and other methods', async () => {
    const { detail } = await expectRefusal(
      await postPacks(service, {}, { searches: 11 }),
      'invalid_parameter',
    );
    expect(detail).toContain('1000 for 0.05 USD, 10 for 0.002 USD');
    await expectRefusal(
      await postPacks(service, bearer(service.dev.apiKey)),
      'ambiguous_credentials',
    );
    const put = await fetch(`${service.gatewayUrl}/packs`, { method: 'PUT' });
    expect(put.headers.get('allow')).toBe('GET, POST');
    await expectRefusal(put, 'method_not_allowed');
    expect((await postPacks({ gatewayUrl: service.apiUrl })).status).toBe(404);
    expect((await fetch(`${service.gatewayUrl}/packs/everything`)).status).toBe(404);
  });
});

describe('the wallet that paid', () => {
  test('lists its packs by signing in, with what is left, and nobody else’s', async () => {
    const { key, pack } = await buy();
    await service.search({ query: 'lamp' }, bearer(key));
    const reply = await askAsWallet(service, payer());
    expect(reply.status).toBe(200);
    const { packs } = (await reply.json()) as { packs: { id: string }[] };
    expect(packs[0]).toMatchObject({
      id: pack.id,
      key: `s402_live_…${key.slice(-4)}`,
      state: 'live',
      searches: 10,
      left: 9,
      amountUsd: '0.002',
      expiresAt: pack.expiresAt,
    });
    const stranger = privateKeyToAccount(generatePrivateKey());
    const none = await askAsWallet(service, stranger);
    expect([none.status, await none.json()]).toEqual([200, { packs: [] }]);
    const path = `/packs/${pack.id}`;
    const foreign = await askAsWallet(service, stranger, { path, method: 'DELETE' });
    await expectRefusal(foreign, 'not_found');
    expect((await service.search({ query: 'lamp' }, bearer(key))).status).toBe(200);
  });

  test('revokes its key, which no request and no payment brings back', async () => {
    const { key, pack, payment } = await buy();
    const path = `/packs/${pack.id}`;
    expect((await askAsWallet(service, payer(), { path, method: 'DELETE' })).status).toBe(200);
    expect((await askAsWallet(service, payer(), { path, method: 'DELETE' })).status).toBe(200);
    await expectRefusal(await service.search({ query: 'lamp' }, bearer(key)), 'invalid_api_key');
    const again = await postPacks(service, { 'payment-signature': payment }, { searches: 10 });
    expect(again.headers.get('payment-required')).toBeNull();
    await expectRefusal(again, 'invalid_api_key');
    const { packs } = (await (await askAsWallet(service, payer())).json()) as {
      packs: { id: string; state: string }[];
    };
    expect(packs.find(({ id }) => id === pack.id)).toMatchObject({ state: 'revoked' });
  });

  test('signs for one path, once, within five minutes, and for this service alone', async () => {
    const { pack } = await buy();
    const url = `${service.gatewayUrl}/packs`;
    const ask = (proof: string, at = url, method = 'GET') =>
      fetch(at, { method, headers: { 'sign-in-with-x': proof } });
    const challenge = challengeOf(await fetch(url));
    const proof = await signIn(challenge, payer());
    await expectRefusal(await ask(proof, `${url}/${pack.id}`, 'DELETE'), 'wallet_sign_in_required');
    expect((await ask(proof)).status).toBe(200);
    await expectRefusal(await ask(proof), 'wallet_sign_in_required');
    const old = new Date(Date.now() - 301_000);
    const changes = [
      { issuedAt: old.toISOString(), expirationTime: new Date(+old + 300_000).toISOString() },
      { issuedAt: new Date(Date.now() + 3600_000).toISOString() },
      { domain: 'elsewhere.example' },
      { uri: 'https://elsewhere.example/packs' },
      { statement: 'Something else.' },
      { resources: [] },
    ];
    for (const changed of changes) {
      const other = await signIn(challengeOf(await fetch(url)), payer(), changed);
      await expectRefusal(await ask(other), 'wallet_sign_in_required');
    }
    const forged = Buffer.from(proof, 'base64')
      .toString()
      .replace(payer().address, service.dev.payTo);
    await expectRefusal(
      await ask(Buffer.from(forged).toString('base64')),
      'wallet_sign_in_required',
    );
    await expectRefusal(await ask('nonsense'), 'wallet_sign_in_required');
  });
});
