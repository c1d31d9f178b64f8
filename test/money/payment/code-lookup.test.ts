import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createPublicClient, http, keccak256, toHex } from 'viem';
import { TestDelegate } from '../../../contracts-abi/artifacts/TestDelegate.js';
import { UNBOUNDED } from '../../../gateway/ground/domain/allowance.js';
import { refuse } from '../../../gateway/ground/domain/refusal.js';
import { address, type Address, type Hex } from '../../../gateway/ground/domain/units.js';
import { RpcError } from '../../../gateway/money/chain/errors.js';
import { createCodeLookup } from '../../../gateway/money/payment/code-lookup.js';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { realClock } from '../../support/ports.js';

let chain: TestChain;
let calls = 0;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());

const numbered = (count: number): Address[] =>
  Array.from({ length: count }, (_, index) => address(`0x${keccak256(toHex(index)).slice(-40)}`));

/** What an endpoint does with `eth_call` without `to`. */
type Without = 'runs it' | 'refuses it' | 'returns nothing';

let codeCalls = 0;
function newCode(without: Without = 'runs it') {
  calls = 0;
  codeCalls = 0;
  const client = createPublicClient({ transport: http(chain.rpcUrl) });
  const ethCode = async (account: Address): Promise<Hex> => {
    codeCalls += 1;
    return (await client.getCode({ address: account })) ?? '0x';
  };
  const ethRun = async (code: Hex): Promise<Hex> => {
    calls += 1;
    if (without === 'refuses it') throw new RpcError(-32602, 'missing field `to`', undefined);
    if (without === 'returns nothing') return '0x';
    return (await client.call({ data: code })).data ?? '0x';
  };
  return createCodeLookup({ ethRun, ethCode }, realClock, 5000);
}

test('a real EVM tells contracts and delegating accounts from others, 600 in a few calls', async () => {
  const delegating = address(`0x${'d1'.repeat(20)}`);
  await chain.client.setCode({ address: delegating, bytecode: `0xef0100${'de'.repeat(20)}` });
  const contract = address(`0x${'c0'.repeat(20)}`);
  await chain.client.setCode({ address: contract, bytecode: TestDelegate.runtimeCode });
  const funded = chain.relayerAddress;
  const code = newCode();
  const strangers = numbered(600);
  const all = [contract, delegating, chain.asset, funded, ...strangers];
  const answers = await Promise.all(all.map((one) => code.has(one, UNBOUNDED)));
  expect(answers.slice(0, 3)).toEqual([true, true, true]);
  expect(answers.slice(3).some(Boolean)).toBe(false);
  expect(calls).toBeLessThanOrEqual(4);
  await Promise.all(all.map((one) => code.has(one, UNBOUNDED)));
  expect(calls).toBeLessThanOrEqual(4);
});

test('who asks while the answer is under way shares it', async () => {
  const code = newCode();
  const [stranger] = numbered(1);
  if (!stranger) throw new Error('no stranger');
  const first = code.has(stranger, UNBOUNDED);
  await realClock.sleep(1);
  const second = code.has(stranger, UNBOUNDED);
  expect(await Promise.all([first, second])).toEqual([false, false]);
  expect(calls).toBe(1);
});

test('an address that has used up its allowance has no stranger looked up', async () => {
  const code = newCode();
  const [stranger] = numbered(1);
  if (!stranger) throw new Error('no stranger');
  const refusal = refuse('rate_limited', 'Too much.');
  expect(await code.has(stranger, { take: () => refusal })).toBe(refusal);
  expect(calls).toBe(0);
});

test.each(['refuses it', 'returns nothing'] as const)(
  'an endpoint that gets a call without `to` and %s is asked for each account, and never so again',
  async (without) => {
    const contract = address(`0x${'c1'.repeat(20)}`);
    await chain.client.setCode({ address: contract, bytecode: TestDelegate.runtimeCode });
    const code = newCode(without);
    const strangers = numbered(4);
    const all = [contract, ...strangers];
    const first = await Promise.all(all.map((one) => code.has(one, UNBOUNDED)));
    expect(first).toEqual([true, false, false, false, false]);
    expect({ calls, codeCalls }).toEqual({ calls: 1, codeCalls: 5 });
    await Promise.all(all.map((one) => code.has(one, UNBOUNDED)));
    expect(await code.has(chain.asset, UNBOUNDED)).toBe(true);
    expect({ calls, codeCalls }).toEqual({ calls: 1, codeCalls: 6 });
  },
);

test('where each account needs a call, few wait, and each takes four questions', async () => {
  const code = newCode('refuses it');
  const [first, ...others] = numbered(101);
  if (!first) throw new Error('no stranger');
  await code.has(first, UNBOUNDED);
  const taken: number[] = [];
  const allowance = { take: (questions: number) => void taken.push(questions) };
  const answers = await Promise.all(others.map((one) => code.has(one, allowance)));
  expect(answers.filter((answer) => answer === false)).toHaveLength(30);
  expect(answers.filter((answer) => answer !== false)).toEqual(
    Array.from({ length: 70 }, () => expect.objectContaining({ code: 'chain_unavailable' })),
  );
  expect(new Set(taken)).toEqual(new Set([4]));
  expect(codeCalls).toBe(31);
});

test('an endpoint that is overloaded or out of reach is asked for many again', async () => {
  const troubles = [new RpcError(-32005, 'limit exceeded', undefined), new Error('no connection')];
  const ethRun = () => Promise.reject(troubles.shift() ?? new Error('no connection'));
  let asked = 0;
  const ethCode = () => {
    asked += 1;
    return Promise.resolve<Hex>('0x');
  };
  const code = createCodeLookup({ ethRun, ethCode }, realClock, 5000);
  for (const stranger of numbered(2)) {
    await expect(code.has(stranger, UNBOUNDED)).rejects.toThrow();
  }
  expect(asked).toBe(0);
});
