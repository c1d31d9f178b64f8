import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { encodeFunctionData, serializeErc6492Signature } from 'viem';
import { parseSiweMessage } from 'viem/siwe';
import { TestWalletFactory } from '../../../contracts-abi/artifacts/TestWalletFactory.js';
import { testWalletFactoryAbi } from '../../../contracts-abi/erc1271.js';
import { ChainUnreachable } from '../../../gateway/money/chain/errors.js';
import { createWalletProof } from '../../../gateway/money/chain/wallet-proof.js';
import { address, type Address, type Hex } from '../../../gateway/ground/domain/units.js';
import { payerOf, startTestChain, type TestChain } from '../../support/chain.js';

const SALT: Hex = `0x${'5b'.repeat(32)}`;
const FACTORY = address(`0x${'fa'.repeat(20)}`);
const owner = payerOf(`0x${'0e'.repeat(32)}`);
const stranger = payerOf(`0x${'0d'.repeat(32)}`);
const deployment = encodeFunctionData({
  abi: testWalletFactoryAbi,
  functionName: 'deploy',
  args: [owner.address, SALT],
});

let chain: TestChain;
let wallet: Address;
let calls = 0;

beforeAll(async () => {
  chain = await startTestChain();
  const { data } = await chain.client.call({ data: TestWalletFactory.creationCode });
  if (data === undefined) throw new Error('the constructor left no code');
  await chain.client.setCode({ address: FACTORY, bytecode: data });
  wallet = address(
    await chain.client.readContract({
      address: FACTORY,
      abi: testWalletFactoryAbi,
      functionName: 'addressOf',
      args: [owner.address, SALT],
    }),
  );
});
afterAll(() => chain.stop());

const proofWith = (
  more: Partial<Parameters<typeof createWalletProof>[0]> = {},
): ReturnType<typeof createWalletProof> =>
  createWalletProof({
    client: {
      request: (method, params) => {
        calls += 1;
        return chain.client.request({ method, params } as never);
      },
    },
    chainId: 8453,
    publicUrl: 'https://search.example',
    contractWallets: true,
    ...more,
  });

const claimOf = (who: Address) => ({
  address: who,
  nonce: 'abcdef0123456789',
  statement: 'Sign in.',
  issuedAt: new Date(0),
  expiresAt: new Date(600_000),
});
const signedBy = (signer: typeof owner, message: string) => signer.account.signMessage({ message });

test('the message is one of ERC-4361 that names domain, address, chain, nonce and time', () => {
  const message = proofWith().messageOf(claimOf(owner.address));
  expect(parseSiweMessage(message)).toEqual({
    domain: 'search.example',
    address: owner.account.address,
    statement: 'Sign in.',
    uri: 'https://search.example/console/sign-in',
    version: '1',
    chainId: 8453,
    nonce: 'abcdef0123456789',
    issuedAt: new Date(0),
    expirationTime: new Date(600_000),
  });
});

describe('a wallet with a key of its own', () => {
  test('signs for itself, without a question to the chain, and for nobody else', async () => {
    const proof = proofWith();
    const message = proof.messageOf(claimOf(owner.address));
    const signature = await signedBy(owner, message);
    calls = 0;
    expect(await proof.isSigned(message, owner.address, signature)).toBe('yes');
    expect(calls).toBe(0);
    expect(await proof.isSigned(message, stranger.address, signature)).toBe('no');
    expect(await proof.isSigned(`${message} `, owner.address, signature)).toBe('no');
  });

  test.each(['0x', '0x00', `0x${'11'.repeat(65)}`, `0x${'6492'.repeat(40)}`] as const)(
    'the bytes %s are no signature',
    async (signature) => {
      const proof = proofWith();
      const message = proof.messageOf(claimOf(owner.address));
      expect(await proof.isSigned(message, owner.address, signature)).toBe('no');
    },
  );
});

describe('a wallet that is a contract', () => {
  const message = () => proofWith().messageOf(claimOf(wallet));
  const wrapped = async (signer: typeof owner) =>
    serializeErc6492Signature({
      address: FACTORY,
      data: deployment,
      signature: await signedBy(signer, message()),
    });

  test('signs before it is deployed (ERC-6492) and after (ERC-1271), by its owner alone', async () => {
    const proof = proofWith();
    expect(await proof.isSigned(message(), wallet, await wrapped(owner))).toBe('yes');
    expect(await proof.isSigned(message(), wallet, await wrapped(stranger))).toBe('no');
    expect(await chain.client.getCode({ address: wallet })).toBeUndefined();
    await chain.send(FACTORY, deployment);
    expect(await proof.isSigned(message(), wallet, await signedBy(owner, message()))).toBe('yes');
    expect(await proof.isSigned(message(), wallet, await signedBy(stranger, message()))).toBe('no');
  });

  test('signs nothing where the operator takes keys only, and nobody asks the chain', async () => {
    calls = 0;
    const proof = proofWith({ contractWallets: false });
    expect(await proof.isSigned(message(), wallet, await wrapped(owner))).toBe('no');
    expect(calls).toBe(0);
  });

  test('is neither believed nor refused while the chain is out of reach', async () => {
    const request = () => Promise.reject(new ChainUnreachable('timeout', 'no answer'));
    const proof = proofWith({ client: { request } });
    expect(await proof.isSigned(message(), wallet, await wrapped(owner))).toBe('unknown');
  });
});
