import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  concat,
  createPublicClient,
  encodeFunctionData,
  http,
  serializeErc6492Signature,
} from 'viem';
import { TestDelegate } from '../../../contracts-abi/artifacts/TestDelegate.js';
import { TestWalletFactory } from '../../../contracts-abi/artifacts/TestWalletFactory.js';
import { EIP7702_DELEGATION_PREFIX, testWalletFactoryAbi } from '../../../contracts-abi/erc1271.js';
import { isRefusal } from '../../../gateway/ground/domain/refusal.js';
import {
  address,
  usdcUnits,
  type Address,
  type Hex,
} from '../../../gateway/ground/domain/units.js';
import type { SignedAuthorization } from '../../../gateway/money/payment/authorization.js';
import { transferCalls } from '../../../gateway/money/payment/transfer.js';
import { createVerifier, type Verifier } from '../../../gateway/money/payment/verifier.js';
import { decodePaymentSignature } from '../../../gateway/money/x402/payment.js';
import { payerOf, startTestChain, type TestChain } from '../../support/chain.js';
import { paymentHeader, resource, standingClock, terms } from '../../support/presented.js';

const PRICE = usdcUnits(50n);
const SALT: Hex = `0x${'5a'.repeat(32)}`;
const FACTORY = address(`0x${'fa'.repeat(20)}`);
const DELEGATE = address(`0x${'de'.repeat(20)}`);
const owner = payerOf(`0x${'0e'.repeat(32)}`);
const stranger = payerOf(`0x${'0d'.repeat(32)}`);

let chain: TestChain;
let calls = 0;
let snapshot: Hex;
let wallet: Address;

function newVerifier(more: { eip6492Factories?: Address[]; contractWallets?: boolean }): Verifier {
  const client = createPublicClient({ transport: http(chain.rpcUrl) });
  return createVerifier({
    chain: {
      ethCall: async (to: Address, data: Hex): Promise<Hex> => {
        calls += 1;
        return (await client.call({ to, data })).data ?? '0x';
      },
    },
    clock: standingClock(),
    offer: () => ({ terms: own(), resource }),
    limits: { settleMarginSeconds: 10, validityMaxSeconds: 86_400, deadlineMs: 2000 },
    eip6492Factories: [],
    ...more,
  });
}

const own = () => terms({ amount: PRICE, payTo: chain.payTo });

beforeAll(async () => {
  chain = await startTestChain();
  await installCode(FACTORY, TestWalletFactory.creationCode);
  await installCode(DELEGATE, TestDelegate.creationCode);
  wallet = address(
    await chain.client.readContract({
      address: FACTORY,
      abi: testWalletFactoryAbi,
      functionName: 'addressOf',
      args: [owner.address, SALT],
    }),
  );
  await chain.fund([wallet], 50n);
});
afterAll(() => chain.stop());
beforeEach(async () => {
  snapshot = await chain.client.snapshot();
  calls = 0;
});
afterEach(() => chain.client.revert({ id: snapshot }));

/** Puts the code that a constructor leaves at an address of the test's choice. */
async function installCode(at: Address, creationCode: Hex): Promise<void> {
  const { data } = await chain.client.call({ data: creationCode });
  if (data === undefined) throw new Error('the constructor left no code');
  await chain.client.setCode({ address: at, bytecode: data });
}

const deployment = encodeFunctionData({
  abi: testWalletFactoryAbi,
  functionName: 'deploy',
  args: [owner.address, SALT],
});

/** An authorization of the wallet that this key has signed. */
const walletPays = (signer = owner) => chain.sign(signer, { value: PRICE, from: wallet });

function wrapped(authorization: SignedAuthorization, factory = FACTORY): SignedAuthorization {
  const signature = serializeErc6492Signature({
    address: factory,
    data: deployment,
    signature: authorization.signature,
  }).toLowerCase() as Hex;
  return { ...authorization, signature };
}

/** What the verifier says of the payment as it would come over the wire. */
async function verdict(verifier: Verifier, signed: SignedAuthorization): Promise<string> {
  const header = await paymentHeader(own(), {
    from: signed.from,
    validBefore: signed.validBefore.toString(),
    nonce: signed.nonce,
    signature: signed.signature,
  });
  const payment = decodePaymentSignature(header);
  if (isRefusal(payment)) throw new Error(payment.detail);
  const checked = await verifier.check(payment);
  if (isRefusal(checked)) return checked.reason ?? checked.code;
  const result = await verifier.confirm(checked);
  return isRefusal(result) ? (result.reason ?? result.code) : `confirmed (${checked.signedBy})`;
}

/** Sends the calls of a settlement from the relayer, each in a transaction of its own. */
async function settle(signed: SignedAuthorization): Promise<void> {
  for (const { target, data } of transferCalls(signed)) await chain.send(target, data);
}

describe('a wallet that is a contract (ERC-1271)', () => {
  test('pays with the signature that its code accepts, asked in one call', async () => {
    const verifier = newVerifier({});
    await chain.send(FACTORY, deployment);
    const signed = await walletPays();
    expect(await verdict(verifier, signed)).toBe('confirmed (contract)');
    expect(calls).toBe(1);
    await settle(signed);
    expect(await chain.transfers(wallet)).toMatchObject([{ to: chain.payTo, value: 50n }]);
    expect(await verdict(verifier, signed)).toBe('invalid_exact_evm_nonce_already_used');
  });

  test('does not pay with another key’s signature, nor with bytes of any other length', async () => {
    const verifier = newVerifier({});
    await chain.send(FACTORY, deployment);
    const signed = await walletPays(stranger);
    expect(await verdict(verifier, signed)).toBe('invalid_exact_evm_signature');
    for (const signature of ['0x00', `0x${'11'.repeat(300)}`] as const)
      expect(await verdict(verifier, { ...signed, signature })).toBe('invalid_exact_evm_signature');
  });

  test('is refused without a call where the operator takes keys only', async () => {
    const verifier = newVerifier({ contractWallets: false, eip6492Factories: [FACTORY] });
    await chain.send(FACTORY, deployment);
    const signed = await walletPays();
    expect(await verdict(verifier, signed)).toBe('invalid_exact_evm_signature');
    expect(await verdict(verifier, wrapped(signed))).toBe('eip6492_factory_not_allowed');
    expect(calls).toBe(0);
  });
});

describe('a wallet that is not deployed yet (ERC-6492)', () => {
  test('is refused without a call unless its factory is allowed', async () => {
    const verifier = newVerifier({});
    expect(await verdict(verifier, wrapped(await walletPays()))).toBe(
      'eip6492_factory_not_allowed',
    );
    const other = wrapped(await walletPays(), address(`0x${'fb'.repeat(20)}`));
    expect(await verdict(newVerifier({ eip6492Factories: [FACTORY] }), other)).toBe(
      'eip6492_factory_not_allowed',
    );
    expect(calls).toBe(0);
  });

  test('pays, and is deployed on the way, in one simulated call and in one settlement', async () => {
    const verifier = newVerifier({ eip6492Factories: [FACTORY] });
    const signed = wrapped(await walletPays());
    expect(await verdict(verifier, signed)).toBe('confirmed (contract)');
    expect(calls).toBe(1);
    expect(await chain.client.getCode({ address: wallet })).toBeUndefined();
    await settle(signed);
    expect(await chain.transfers(wallet)).toMatchObject([{ to: chain.payTo, value: 50n }]);
    expect(await chain.client.getCode({ address: wallet })).toBeDefined();
  });

  test('pays all the same when it has been deployed in the meantime', async () => {
    const verifier = newVerifier({ eip6492Factories: [FACTORY] });
    await chain.send(FACTORY, deployment);
    expect(await verdict(verifier, wrapped(await walletPays()))).toBe('confirmed (contract)');
  });

  test('does not pay with another key’s signature', async () => {
    const verifier = newVerifier({ eip6492Factories: [FACTORY] });
    expect(await verdict(verifier, wrapped(await walletPays(stranger)))).toBe(
      'invalid_exact_evm_signature',
    );
  });

  test('with a wrapping that cannot be read is refused without a call', async () => {
    const verifier = newVerifier({ eip6492Factories: [FACTORY] });
    const signed = await walletPays();
    const signature: Hex = `0x${'00'.repeat(40)}${'6492'.repeat(16)}`;
    expect(await verdict(verifier, { ...signed, signature })).toBe('invalid_exact_evm_signature');
    expect(calls).toBe(0);
  });
});

describe('an account that delegates to a contract (EIP-7702)', () => {
  const delegateTo = (contract: Address) =>
    chain.client.setCode({
      address: owner.address,
      bytecode: concat([EIP7702_DELEGATION_PREFIX, contract]),
    });

  test('pays with its own key where its delegate accepts that', async () => {
    const verifier = newVerifier({});
    await chain.fund([owner.address], 50n);
    await delegateTo(DELEGATE);
    const signed = await chain.sign(owner, { value: PRICE });
    expect(await verdict(verifier, signed)).toBe('confirmed (key)');
    await settle(signed);
    expect(await chain.transfers(owner.address)).toMatchObject([{ value: 50n }]);
  });

  test('does not pay with its own key where its delegate refuses: the token asks the code', async () => {
    const verifier = newVerifier({});
    await chain.fund([owner.address], 50n);
    await delegateTo(FACTORY);
    const signed = await chain.sign(owner, { value: PRICE });
    expect(await verdict(verifier, signed)).toBe('invalid_exact_evm_signature');
  });
});
