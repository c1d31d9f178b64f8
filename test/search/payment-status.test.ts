import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { createTestClient, http, publicActions, walletActions } from 'viem';
import { decodePaymentSignatureHeader } from '@x402/core/http';
import { TestWalletFactory } from '../../contracts-abi/artifacts/TestWalletFactory.js';
import { testWalletFactoryAbi } from '../../contracts-abi/erc1271.js';
import { readFileSync } from 'node:fs';
import { decodeStatusProof, statusProofDigest } from '../../gateway/money/payment/status-proof.js';
import type { PaymentReport } from '../../gateway/search/payment-status.js';
import { expectRefusal } from '../support/errors.js';
import { receiptOf, signPayment } from '../support/pay.js';
import { startTestService, type TestService } from '../support/service.js';

type Hex = `0x${string}`;
interface Vectors {
  readonly types: { PaymentStatusRequest: { name: string; type: string }[] };
  readonly proofs: readonly {
    readonly domain: { readonly chainId: number };
    readonly message: { readonly audience: string };
    readonly digest: string;
    readonly proof: object;
    readonly header: string;
  }[];
}
const vectors = JSON.parse(readFileSync('test/vectors/payment-status.json', 'utf8')) as Vectors;

test('the shared proofs are read, and their digests are what is checked', () => {
  for (const { domain, message, digest, proof, header } of vectors.proofs) {
    const read = decodeStatusProof(header);
    expect(read).toEqual(proof);
    const { audience } = message;
    expect(read && statusProofDigest(read, { chainId: domain.chainId, audience })).toBe(digest);
  }
});

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const NONCE: Hex = `0x${'5e'.repeat(32)}`;
const PUBLIC_ORIGIN = 'http://localhost:0';

interface ProofParts {
  readonly key?: Hex;
  readonly payer?: Hex;
  readonly nonce?: Hex;
  readonly issuedAt?: number;
  readonly audience?: string;
  readonly chainId?: number;
}

async function proofOf(parts: ProofParts = {}): Promise<string> {
  const account = privateKeyToAccount(parts.key ?? (service.dev.payerPrivateKey as Hex));
  const { payer = account.address, nonce = NONCE, chainId = 8453 } = parts;
  const issuedAt = parts.issuedAt ?? Math.floor(Date.now() / 1000);
  const signature = await account.signTypedData({
    domain: { name: 'search402', version: '1', chainId },
    types: vectors.types,
    primaryType: 'PaymentStatusRequest',
    message: {
      payer,
      nonce,
      issuedAt: BigInt(issuedAt),
      audience: parts.audience ?? PUBLIC_ORIGIN,
    },
  });
  return Buffer.from(JSON.stringify({ payer, nonce, issuedAt, signature })).toString('base64');
}

const ask = (
  nonce: string,
  proof: string | undefined,
  more: { url?: string; method?: string } = {},
) =>
  fetch(`${more.url ?? service.gatewayUrl}/payments/${nonce}`, {
    method: more.method ?? 'GET',
    headers: proof === undefined ? {} : { 'payment-proof': proof },
  });
const report = async (response: Response) => {
  expect(response.status).toBe(200);
  return (await response.json()) as PaymentReport;
};
const nonceOf = (header: string): Hex =>
  (decodePaymentSignatureHeader(header).payload as { authorization: { nonce: Hex } }).authorization
    .nonce;

describe('the payer of an authorization', () => {
  test('is told that it settled, and gets the reply byte for byte with its receipt', async () => {
    const body = { query: 'lighthouse' };
    const payment = await signPayment(service, body);
    const paid = await service.search(body, { 'payment-signature': payment });
    const nonce = nonceOf(payment);
    const proof = await proofOf({ nonce });
    const { transaction } = receiptOf(paid);
    expect(await report(await ask(nonce, proof))).toMatchObject({
      ...{ payer: service.dev.payerAddress.toLowerCase(), nonce, status: 'settled' },
      ...{ transaction, mayBeCharged: true, replayable: true },
    });
    const reply = await ask(`${nonce}/reply`, proof);
    expect(reply.status).toBe(200);
    expect(await reply.text()).toBe(await paid.text());
    expect(receiptOf(reply)).toEqual(receiptOf(paid));
    for (const name of ['x-request-id', 'index-generation', 'unencoded-digest']) {
      expect(reply.headers.get(name)).toBe(paid.headers.get(name));
      expect(reply.headers.get(name)).not.toBeNull();
    }
  });

  test('is told that nothing is known, what the chain says, and that there is no reply', async () => {
    const proof = await proofOf();
    const answer = await report(await ask(NONCE, proof));
    expect(answer).toMatchObject({ status: 'unknown', mayBeCharged: true, replayable: false });
    await expectRefusal(await ask(`${NONCE}/reply`, proof), 'not_found');
  });

  test('may be a contract, whose own check is asked, as for payments', async () => {
    const owner = generatePrivateKey();
    const chain = createTestClient({ mode: 'anvil', transport: http(service.dev.rpcUrl) })
      .extend(publicActions)
      .extend(walletActions);
    const factory = { address: `0x${'fa'.repeat(20)}`, abi: testWalletFactoryAbi } as const;
    const { data: bytecode = '0x' } = await chain.call({ data: TestWalletFactory.creationCode });
    await chain.setCode({ address: factory.address, bytecode });
    const args = [privateKeyToAccount(owner).address, NONCE] as const;
    const wallet = await chain.readContract({ ...factory, functionName: 'addressOf', args });
    const sender: Hex = `0x${'5d'.repeat(20)}`;
    await chain.impersonateAccount({ address: sender });
    await chain.setBalance({ address: sender, value: 10n ** 18n });
    const how = { account: sender, chain: null } as const;
    await chain.writeContract({ ...factory, functionName: 'deploy', args, ...how });
    await chain.mine({ blocks: 1 });
    const mine = await ask(NONCE, await proofOf({ key: owner, payer: wallet }));
    expect(await report(mine)).toMatchObject({ payer: wallet.toLowerCase(), status: 'unknown' });
    const stranger = await proofOf({ key: generatePrivateKey(), payer: wallet });
    await expectRefusal(await ask(NONCE, stranger), 'invalid_payment_proof');
  });
});

describe('nobody else is told anything', () => {
  const wrong: readonly [string, (nonce: Hex) => Promise<string | undefined>][] = [
    ['no proof', () => Promise.resolve(undefined)],
    ['no base64', () => Promise.resolve('%%%')],
    ['another key', (nonce) => proofOf({ nonce, key: generatePrivateKey(), payer: payer() })],
    ['another nonce', () => proofOf()],
    ['an old proof', (nonce) => proofOf({ nonce, issuedAt: Math.floor(Date.now() / 1000) - 320 })],
    ['a future one', (nonce) => proofOf({ nonce, issuedAt: Math.floor(Date.now() / 1000) + 320 })],
    ['another service', (nonce) => proofOf({ nonce, audience: 'https://other.example' })],
    ['another chain', (nonce) => proofOf({ nonce, chainId: 1 })],
  ];
  const payer = () => service.dev.payerAddress as Hex;
  let known: Hex;
  beforeAll(async () => {
    const body = { query: 'bread' };
    const payment = await signPayment(service, body);
    await service.search(body, { 'payment-signature': payment });
    known = nonceOf(payment);
  });

  test.each(wrong)('%s: 401 with the same words for a payment that exists', async (_what, make) => {
    for (const path of ['', '/reply']) {
      const there = await expectRefusal(
        await ask(`${known}${path}`, await make(known)),
        'invalid_payment_proof',
      );
      const nowhere: Hex = `0x${'0f'.repeat(32)}`;
      const proof = await make(nowhere);
      const absent = await expectRefusal(
        await ask(`${nowhere}${path}`, proof),
        'invalid_payment_proof',
      );
      expect(there.detail).toBe(absent.detail);
    }
  });

  test('another method is 405 at the gateway; the keys-only port has no such path', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const response = await ask(known, await proofOf({ nonce: known }), { method });
      expect(response.headers.get('allow')).toBe('GET');
      await expectRefusal(response, 'method_not_allowed');
    }
    const proof = await proofOf({ nonce: known });
    await expectRefusal(await ask(known, proof, { url: service.apiUrl }), 'not_found');
    await expectRefusal(await ask('0x12', proof), 'not_found');
  });
});
