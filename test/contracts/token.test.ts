import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { encodeFunctionData, hashDomain, parseSignature } from 'viem';
import { MULTICALL3_ADDRESS, USDC_ADDRESS } from '../../contracts-abi/addresses.js';
import {
  artifactFile,
  compileContracts,
  multicall3,
  SOURCES,
} from '../../contracts-abi/compile.js';
import { multicall3Abi } from '../../contracts-abi/multicall3.js';
import { usdcAbi, usdcBytesAbi, usdcKeyAbi } from '../../contracts-abi/usdc.js';
import { address, type Hex } from '../../gateway/ground/domain/units.js';
import type { SignedAuthorization } from '../../gateway/money/payment/authorization.js';
import { startTestChain, type TestChain } from '../support/chain.js';

const usdc = address(USDC_ADDRESS);
const multicall = address(MULTICALL3_ADDRESS);
let chain: TestChain;
beforeAll(async () => {
  chain = await startTestChain({ blockTimeSeconds: 'manual' });
});
afterAll(() => chain.stop());

function authorizationArgs(signed: SignedAuthorization) {
  return [
    signed.from,
    signed.to,
    signed.value,
    BigInt(signed.validAfter),
    BigInt(signed.validBefore),
    signed.nonce,
  ] as const;
}

function keyCall(signed: SignedAuthorization): Hex {
  const { v, r, s } = parseSignature(signed.signature);
  return encodeFunctionData({
    abi: usdcKeyAbi,
    functionName: 'transferWithAuthorization',
    args: [...authorizationArgs(signed), Number(v), r, s],
  });
}

function bytesCall(signed: SignedAuthorization): Hex {
  return encodeFunctionData({
    abi: usdcBytesAbi,
    functionName: 'transferWithAuthorization',
    args: [...authorizationArgs(signed), signed.signature],
  });
}

/** The reason with which this call would revert, or undefined when it would pass. */
async function refusal(data: Hex): Promise<string | undefined> {
  return chain.client.call({ to: usdc, data }).then(
    () => undefined,
    (error: unknown) =>
      /reverted with reason: (.*)|reason:\s(.*)/.exec(String(error))?.[0] ?? String(error),
  );
}

describe('the committed artifacts', () => {
  test('are what the pinned compiler makes from the sources', () => {
    for (const [source, contracts] of SOURCES) {
      const text = readFileSync(`contracts-abi/src/${source}`, 'utf8');
      const made = compileContracts(source, text, contracts);
      expect(made).toHaveLength(contracts.length);
      for (const artifact of made) {
        const committed = readFileSync(`contracts-abi/artifacts/${artifact.contract}.ts`, 'utf8');
        expect(committed === artifactFile(artifact)).toBe(true);
      }
    }
    const committed = readFileSync('contracts-abi/artifacts/Multicall3.ts', 'utf8');
    expect(committed === artifactFile(multicall3())).toBe(true);
  });
});

describe('the development token', () => {
  test('names itself and its EIP-712 domain as USDC does, for the address it sits at', async () => {
    const read = (functionName: 'name' | 'version' | 'symbol' | 'decimals' | 'DOMAIN_SEPARATOR') =>
      chain.client.readContract({ address: usdc, abi: usdcAbi, functionName });
    expect(await read('name')).toBe('USD Coin');
    expect(await read('version')).toBe('2');
    expect(await read('symbol')).toBe('USDC');
    expect(await read('decimals')).toBe(6);
    // The separator of the real contract on chain 8453, as its domain gives it.
    const domain = {
      name: 'USD Coin',
      version: '2',
      chainId: 8453n,
      verifyingContract: usdc,
    } as const;
    expect(await read('DOMAIN_SEPARATOR')).toBe(
      hashDomain({
        domain,
        types: {
          EIP712Domain: [
            { name: 'name', type: 'string' },
            { name: 'version', type: 'string' },
            { name: 'chainId', type: 'uint256' },
            { name: 'verifyingContract', type: 'address' },
          ],
        },
      }),
    );
  });

  test.each([
    ['v, r, s', keyCall],
    ['bytes', bytesCall],
  ] as const)('an authorization (%s) moves its value once', async (_, call) => {
    const payer = await chain.newPayer({ usdc: 100n });
    const signed = await chain.sign(payer, { value: 40n });
    const receipt = await chain.send(usdc, call(signed), 200_000n);
    expect(receipt.status).toBe('success');
    expect(await chain.balance(payer.address)).toBe(60n);
    expect(await chain.transfers(payer.address)).toMatchObject([
      { to: chain.payTo, value: 40n, transaction: receipt.transactionHash },
    ]);
    expect(await chain.uses(payer.address)).toEqual([
      { authorizer: payer.address, nonce: signed.nonce },
    ]);
    expect(await refusal(call(signed))).toContain('authorization is used or canceled');
  });

  test('each way to be refused has the reason that USDC gives', async () => {
    const payer = await chain.newPayer({ usdc: 100n });
    const stranger = await chain.newPayer({ usdc: 100n });
    const signed = await chain.sign(payer, { value: 40n });
    expect(await refusal(keyCall(signed))).toBeUndefined();
    expect(await refusal(keyCall({ ...signed, from: stranger.address }))).toContain(
      'invalid signature',
    );
    expect(await refusal(keyCall(await chain.sign(payer, { value: 101n })))).toContain(
      'ERC20: transfer amount exceeds balance',
    );
    const expired = { value: 1n, validBefore: signed.validAfter };
    expect(await refusal(keyCall(await chain.sign(payer, expired)))).toContain('is expired');
    const early = { value: 1n, validAfter: signed.validBefore };
    expect(await refusal(keyCall(await chain.sign(payer, early)))).toContain('not yet valid');

    await chain.devUsdc('pause');
    expect(await refusal(keyCall(signed))).toContain('Pausable: paused');
    await chain.devUsdc('unpause');
    await chain.devUsdc('blacklist', [payer.address]);
    expect(await refusal(keyCall(signed))).toContain('Blacklistable: account is blacklisted');
    await chain.devUsdc('unBlacklist', [payer.address]);
    expect(await refusal(keyCall(signed))).toBeUndefined();
  });

  test('a cancelled authorization is refused', async () => {
    const payer = await chain.newPayer({ usdc: 100n });
    const signed = await chain.sign(payer, { value: 40n });
    const cancel = encodeFunctionData({
      abi: usdcBytesAbi,
      functionName: 'cancelAuthorization',
      args: [payer.address, signed.nonce, await chain.cancellation(payer, signed.nonce)],
    });
    expect((await chain.send(usdc, cancel)).status).toBe('success');
    expect(await refusal(keyCall(signed))).toContain('authorization is used or canceled');
  });

  test('costs as much gas in batches as USDC does, within 3 %, and less alone for want of a proxy', async () => {
    await chain.fund([chain.payTo], 1n);
    const alone = await chain.newPayer({ usdc: 100n });
    const single = await chain.send(
      usdc,
      keyCall(await chain.sign(alone, { value: 50n })),
      200_000n,
    );
    const figures: Record<string, number> = { alone: Number(single.gasUsed) };
    for (const count of [16, 64]) {
      const payers = await chain.newPayers(count, { usdc: 100n });
      const calls = await Promise.all(
        payers.map(async (payer) => ({
          target: usdc,
          allowFailure: true,
          callData: keyCall(await chain.sign(payer, { value: 50n })),
        })),
      );
      const data = encodeFunctionData({
        abi: multicall3Abi,
        functionName: 'aggregate3',
        args: [calls],
      });
      const receipt = await chain.send(multicall, data, 8_000_000n);
      expect(receipt.logs).toHaveLength(2 * count);
      figures[`batch of ${count}`] = Math.round(Number(receipt.gasUsed) / count);
    }
    // Measured on real USDC: 85,700 alone, 53,000 and 51,000 in batches. Alone, the development
    // token is cheaper by what the proxy in front of the real one costs once a transaction.
    expect(figures.alone).toBeGreaterThan(78_000);
    expect(figures.alone).toBeLessThan(85_700);
    expect(figures['batch of 16']).toBeGreaterThan(53_000 * 0.97);
    expect(figures['batch of 16']).toBeLessThan(53_000 * 1.03);
    expect(figures['batch of 64']).toBeGreaterThan(51_000 * 0.97);
    expect(figures['batch of 64']).toBeLessThan(51_000 * 1.03);
  });
});
