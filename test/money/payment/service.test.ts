import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { x402Client } from '@x402/core/client';
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http';
import { ExactEvmScheme } from '@x402/evm';
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import {
  createTestClient,
  encodeFunctionData,
  http,
  publicActions,
  serializeErc6492Signature,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { TestWalletFactory } from '../../../contracts-abi/artifacts/TestWalletFactory.js';
import { testWalletFactoryAbi } from '../../../contracts-abi/erc1271.js';
import { devUsdcAbi, usdcAbi } from '../../../contracts-abi/usdc.js';
import type { Hex } from '../../../gateway/ground/domain/units.js';
import { quoteKey } from '../../../gateway/money/payment/quotes.js';
import { startTestService, type TestService } from '../../support/service.js';

/** Where the tests put a factory of wallets that are contracts. */
const FACTORY: Hex = `0x${'fa'.repeat(20)}`;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({
    env: {
      PRICE_COVERS_GAS: 'on',
      QUOTE_SECRET: ['11', '22'].map((byte) => byte.repeat(32)).join(','),
      X402_V1: 'on',
      EIP6492_FACTORIES: FACTORY,
    },
  });
});
afterAll(() => service.stop());

const payer = () => privateKeyToAccount(service.dev.payerPrivateKey as Hex);
const request = () => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query: 'lighthouse lamp' }),
});

describe('the running service with a price that covers the gas', () => {
  test('quotes more than the floor, signed by the first secret, and takes that from the official client', async () => {
    const unpaid = await service.search({ query: 'lighthouse lamp' });
    const challenge = decodePaymentRequiredHeader(unpaid.headers.get('PAYMENT-REQUIRED') ?? '');
    const [asked] = challenge.accepts;
    expect(BigInt(asked?.amount ?? 0)).toBeGreaterThan(50n);
    const { id } = quoteKey(Buffer.alloc(32, 0x11));
    expect(asked?.extra).toMatchObject({ quote: expect.stringContaining(`${id}.`) as unknown });

    const client = new x402Client().register('eip155:8453', new ExactEvmScheme(payer()));
    const paid = await wrapFetchWithPayment(fetch, client)(
      `${service.gatewayUrl}/search`,
      request(),
    );
    expect(paid.status).toBe(200);
    const receipt = decodePaymentResponseHeader(paid.headers.get('PAYMENT-RESPONSE') ?? '');
    expect(receipt).toMatchObject({ success: true, network: 'eip155:8453' });
    expect(BigInt(receipt.amount ?? 0)).toBeGreaterThan(50n);
  });

  test('serves version 1 to the official client, from the body’s challenge to the receipt', async () => {
    // Clients of version 1 know nothing of the header that version 2 reads first.
    const old: typeof fetch = async (...args) => {
      const response = await fetch(...args);
      const headers = new Headers(response.headers);
      headers.delete('PAYMENT-REQUIRED');
      return new Response(response.body, { status: response.status, headers });
    };
    const client = new x402Client().registerV1('base', new ExactEvmSchemeV1(payer()));
    const paid = await wrapFetchWithPayment(old, client)(`${service.gatewayUrl}/search`, request());
    expect(paid.status).toBe(200);
    const receipt = decodePaymentResponseHeader(paid.headers.get('X-PAYMENT-RESPONSE') ?? '');
    expect(receipt).toMatchObject({ success: true, network: 'base' });
  });
});

describe('a wallet that is a contract and not deployed yet', () => {
  const SALT: Hex = `0x${'5a'.repeat(32)}`;
  const owner = privateKeyToAccount(`0x${'0e'.repeat(32)}`);
  const deployment = encodeFunctionData({
    abi: testWalletFactoryAbi,
    functionName: 'deploy',
    args: [owner.address, SALT],
  });

  /** Installs the factory, and gives the wallet its money before it exists. */
  async function prepare() {
    const chain = createTestClient({ mode: 'anvil', transport: http(service.dev.rpcUrl) }).extend(
      publicActions,
    );
    const { data } = await chain.call({ data: TestWalletFactory.creationCode });
    await chain.setCode({ address: FACTORY, bytecode: data ?? '0x' });
    const wallet = await chain.readContract({
      address: FACTORY,
      abi: testWalletFactoryAbi,
      functionName: 'addressOf',
      args: [owner.address, SALT],
    });
    const asset = service.dev.asset as Hex;
    await chain.impersonateAccount({ address: owner.address });
    await chain.setBalance({ address: owner.address, value: 10n ** 18n });
    const hash = await chain.sendUnsignedTransaction({
      from: owner.address,
      to: asset,
      data: encodeFunctionData({
        abi: devUsdcAbi,
        functionName: 'mint',
        args: [wallet, 10_000_000n],
      }),
    });
    await chain.waitForTransactionReceipt({ hash });
    const balance = () =>
      chain.readContract({
        address: asset,
        abi: usdcAbi,
        functionName: 'balanceOf',
        args: [wallet],
      });
    return { chain, wallet, balance };
  }

  test('pays, and is deployed by the settlement; then it pays again as it stands', async () => {
    const { chain, wallet, balance } = await prepare();
    const pay = async (wrap: (signature: Hex) => Hex) => {
      const signer = {
        address: wallet,
        signTypedData: async (typed: Parameters<typeof owner.signTypedData>[0]) =>
          wrap(await owner.signTypedData(typed)),
      };
      const client = new x402Client().register('eip155:8453', new ExactEvmScheme(signer));
      const before = await balance();
      const paid = await wrapFetchWithPayment(fetch, client)(
        `${service.gatewayUrl}/search`,
        request(),
      );
      if (paid.status !== 200) throw new Error(await paid.text());
      const { amount } = decodePaymentResponseHeader(paid.headers.get('PAYMENT-RESPONSE') ?? '');
      expect(before - (await balance())).toBe(BigInt(amount ?? 0));
    };
    expect(await chain.getCode({ address: wallet })).toBeUndefined();
    await pay((signature) =>
      serializeErc6492Signature({ address: FACTORY, data: deployment, signature }),
    );
    expect(await chain.getCode({ address: wallet })).toBeDefined();
    await pay((signature) => signature);
  });
});
