import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodePaymentSignatureHeader } from '@x402/core/http';
import { createTestClient, http, publicActions, walletActions } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { TestWalletFactory } from '../../../contracts-abi/artifacts/TestWalletFactory.js';
import { testWalletFactoryAbi } from '../../../contracts-abi/erc1271.js';
import { expectRefusal } from '../../support/errors.js';
import { askAsWallet, postPacks, signForPack, type BoughtPack } from '../../support/packs.js';
import { devClient, receiptOf, transfersToPayee } from '../../support/pay.js';
import { signStatusProof } from '../../support/payment-proof.js';
import { startTestService, type TestService } from '../../support/service.js';

type Hex = `0x${string}`;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
}, 60_000);
afterAll(() => service.stop());

/** The same payment under the payer's own identifier. */
function named(header: string, id: string): string {
  const payload = JSON.parse(Buffer.from(header, 'base64').toString()) as object;
  const extensions = { 'payment-identifier': { info: { required: false, id } } };
  return Buffer.from(JSON.stringify({ ...payload, extensions })).toString('base64');
}

const buyAs = async (id: string) =>
  postPacks(service, { 'payment-signature': named(await signForPack(service), id) });

describe('a buyer whose reply was lost', () => {
  test('gets it again by another authorization under the same identifier, and pays once', async () => {
    const id = randomBytes(16).toString('hex');
    const first = await buyAs(id);
    const before = await transfersToPayee(service);
    const second = await buyAs(id);
    expect([second.status, await second.text()]).toEqual([200, await first.text()]);
    expect(receiptOf(second)).toEqual(receiptOf(first));
    expect(await transfersToPayee(service)).toHaveLength(before.length);
  });

  test('meets a conflict where the identifier named something else', async () => {
    const id = randomBytes(16).toString('hex');
    const other = await service.search({ query: 'lamp' });
    const quote = other.headers.get('payment-required') ?? '';
    const { accepts, ...rest } = JSON.parse(Buffer.from(quote, 'base64').toString()) as {
      accepts: never[];
    };
    const payload = await devClient(service).createPaymentPayload({ ...rest, accepts } as never);
    const search = Buffer.from(JSON.stringify(payload)).toString('base64');
    const paid = await service.search(
      { query: 'lamp' },
      { 'payment-signature': named(search, id) },
    );
    expect(paid.status).toBe(200);
    await expectRefusal(await buyAs(id), 'payment_identifier_conflict');
  });

  test('gets it by proving to be the payer, and nobody else does', async () => {
    const payment = await signForPack(service);
    const bought = await postPacks(service, { 'payment-signature': payment });
    const { payload } = decodePaymentSignatureHeader(payment);
    const { nonce } = (payload as { authorization: { nonce: Hex } }).authorization;
    const url = `${service.gatewayUrl}/payments/${nonce}`;
    const headers = { 'payment-proof': await signStatusProof(service, nonce) };
    expect(await (await fetch(url, { headers })).json()).toMatchObject({
      status: 'settled',
      replayable: true,
    });
    const reply = await fetch(`${url}/reply`, { headers });
    expect([reply.status, await reply.text()]).toEqual([200, await bought.text()]);
    await expectRefusal(await fetch(`${url}/reply`), 'invalid_payment_proof');
  });
});

test('unpaid requests for packs use up what their address may cost', async () => {
  const own = await startTestService({ env: { ADDRESS_RATE: '2' } });
  try {
    const payment = await signForPack(own);
    // All at once: what each costs is billed afterwards, so the address owes many seconds' worth.
    await Promise.all(Array.from({ length: 200 }, () => postPacks(own)));
    const { detail } = (await (await postPacks(own)).json()) as { detail: string };
    expect(detail).toContain('has sent too many unpaid requests');
    const refused = await postPacks(own, { 'payment-signature': payment });
    expect(refused.status).toBe(429);
  } finally {
    await own.stop();
  }
}, 60_000);

test('the keys-only port knows no packs', async () => {
  const path = '/packs/00000000-0000-4000-8000-000000000000';
  for (const [at, method] of [
    ['/packs', 'GET'],
    ['/packs', 'POST'],
    [path, 'DELETE'],
  ] as const) {
    await expectRefusal(await fetch(service.apiUrl + at, { method }), 'not_found');
  }
});

test('a wallet that is a contract signs in by its own check', async () => {
  const owner = privateKeyToAccount(generatePrivateKey());
  const stranger = privateKeyToAccount(generatePrivateKey());
  const salt: Hex = `0x${randomBytes(32).toString('hex')}`;
  const chain = createTestClient({ mode: 'anvil', transport: http(service.dev.rpcUrl) })
    .extend(publicActions)
    .extend(walletActions);
  const factory = { address: `0x${'fa'.repeat(20)}`, abi: testWalletFactoryAbi } as const;
  const { data: bytecode = '0x' } = await chain.call({ data: TestWalletFactory.creationCode });
  await chain.setCode({ address: factory.address, bytecode });
  const args = [owner.address, salt] as const;
  const wallet = await chain.readContract({ ...factory, functionName: 'addressOf', args });
  const sender: Hex = `0x${'5d'.repeat(20)}`;
  await chain.impersonateAccount({ address: sender });
  await chain.setBalance({ address: sender, value: 10n ** 18n });
  const how = { account: sender, chain: null } as const;
  await chain.writeContract({ ...factory, functionName: 'deploy', args, ...how });
  await chain.mine({ blocks: 1 });

  const account = { ...owner, address: wallet };
  const empty = await askAsWallet(service, account);
  expect([empty.status, await empty.json()]).toEqual([200, { packs: [] }]);
  const forged = await askAsWallet(service, { ...stranger, address: wallet });
  await expectRefusal(forged, 'wallet_sign_in_required');
});

test('the account of a pack says what it is', async () => {
  const response = await postPacks(service, {
    'payment-signature': await signForPack(service),
  });
  const { key } = (await response.json()) as BoughtPack;
  const account = await fetch(`${service.gatewayUrl}/account`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(await account.json()).toMatchObject({
    account: { name: 'Pack of 1,000 searches', plan: 'payg', ratePerSecond: 20 },
    credits: { available: 1000 },
  });
});
