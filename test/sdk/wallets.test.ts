// Who can pay, and whom. viem is the real package; the signer of ethers 6 and the provider of AgentKit are
// stand-ins of their published interfaces, since the packages are large.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createWalletClient, custom, type TypedDataDefinition } from 'viem';
import { base } from 'viem/chains';
import * as sdk from '../../sdk/typescript/src/index.js';
import { startSdkWorld, type SdkWorld } from '../support/sdk.js';

let world: SdkWorld;
beforeEach(async () => {
  world = await startSdkWorld();
});
afterEach(() => world.close());

const query = { query: 'kestrel' };

describe('a wallet', () => {
  const pays = async (wallet: sdk.Wallet) => {
    const { payment } = await world.client({ wallet }).search(query).withResponse();
    expect(payment?.payer).toBe(world.account.address.toLowerCase());
    const [transfer] = world.gateway.transfers;
    expect(transfer?.from.toLowerCase()).toBe(world.account.address.toLowerCase());
  };
  const never = custom({ request: () => Promise.reject(new Error('not for a provider')) });

  test('may be a wallet client of viem: its own account pays', async () => {
    await pays(createWalletClient({ account: world.account, chain: base, transport: never }));
  });

  test('may be a wallet client without an account: its provider’s first account pays', async () => {
    const provider = custom({
      request: async ({ method, params }: { method: string; params?: readonly unknown[] }) => {
        if (method === 'eth_requestAccounts') return [world.account.address];
        expect(method).toBe('eth_signTypedData_v4');
        const data = JSON.parse(String(params?.[1])) as TypedDataDefinition;
        return await world.account.signTypedData(data);
      },
    });
    await pays(createWalletClient({ chain: base, transport: provider }));
  });

  test('may be a signer of ethers 6, which names its address, too', async () => {
    const { account } = world;
    const signer = {
      address: account.address,
      getAddress: () => Promise.resolve(account.address as string),
      signTypedData: async (domain: object, types: object, message: object): Promise<string> => {
        const [primaryType = ''] = Object.keys(types);
        const data = { domain, types, primaryType, message } as TypedDataDefinition;
        return await account.signTypedData(data);
      },
    };
    await pays(signer);
  });

  test('may be a wallet provider of AgentKit', async () => {
    const { account } = world;
    await pays({
      getAddress: () => account.address,
      signTypedData: (data: TypedDataDefinition) => account.signTypedData(data),
    });
  });

  test('that fails is told of, and nothing is spent', async () => {
    const wallet = {
      address: world.account.address,
      signTypedData: () => Promise.reject(new Error('the user said no')),
    };
    const client = world.client({ wallet });
    await expect(client.search(query)).rejects.toThrow(/did not sign: the user said no/);
    expect(await client.payments.spent()).toMatchObject({ totalUnits: 0n });
  });
});

describe('another payee than the first one', () => {
  const STRANGER = `0x${'22'.repeat(20)}`;
  const client = (payment: sdk.PaymentOptions) => world.client({ payment });

  test('is not paid, after a restart neither', async () => {
    const store = new sdk.MemoryStore();
    const first = client({ store });
    await first.search(query);
    world.gateway.terms = { payTo: STRANGER };
    for (const one of [first, client({ store })]) {
      const search = one.search({ query: 'falcon' });
      await expect(search).rejects.toThrow(/was paid at 0x1{40} before; nothing was signed/);
    }
    expect(world.gateway.transfers).toHaveLength(1);
  });

  test('is paid where the caller names it, or approves it', async () => {
    const store = new sdk.MemoryStore();
    await client({ store }).search(query);
    world.gateway.terms = { payTo: STRANGER };
    await client({ store, payees: [STRANGER] }).search({ query: 'falcon' });
    const approve = ({ payTo }: sdk.Quote) => payTo === STRANGER;
    await client({ store, approve }).search({ query: 'merlin' });
    expect(world.gateway.transfers).toHaveLength(3);
  });

  test('a price twenty times the usual one is above the default cap', async () => {
    world.gateway.terms = { amount: '1001' };
    await expect(client({}).search(query)).rejects.toThrow(/exceeds maxPerRequest \(0\.001 USD\)/);
  });
});
