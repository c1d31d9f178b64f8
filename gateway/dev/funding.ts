import {
  concatHex,
  createTestClient,
  encodeAbiParameters,
  http,
  keccak256,
  numberToHex,
  publicActions,
  type Address,
  type Hex,
} from 'viem';
import { MULTICALL3_ADDRESS, USDC_ADDRESS } from '../../contracts-abi/addresses.js';
import {
  BATCH_SETTLEMENT_ADDRESS,
  DEPOSIT_COLLECTOR_ADDRESS,
} from '../../contracts-abi/batch-settlement.js';
import { CAPPED_BATCH_ADDRESS } from '../../contracts-abi/capped-batch.js';
import { BatchSettlement } from '../../contracts-abi/artifacts/BatchSettlement.js';
import { CappedBatch } from '../../contracts-abi/artifacts/CappedBatch.js';
import { DepositCollector } from '../../contracts-abi/artifacts/DepositCollector.js';
import { DevUsdc } from '../../contracts-abi/artifacts/DevUsdc.js';
import { Multicall3 } from '../../contracts-abi/artifacts/Multicall3.js';
import { usdcAbi } from '../../contracts-abi/usdc.js';
import { base } from './base.js';

/** viem over anvil's own methods. */
export function anvilClient(rpcUrl: string) {
  return createTestClient({
    chain: base,
    mode: 'anvil',
    transport: http(rpcUrl, { retryCount: 0, timeout: 30_000 }),
    cacheTime: 0,
    pollingInterval: 50,
  }).extend(publicActions);
}

export type AnvilClient = ReturnType<typeof anvilClient>;

/**
 * Puts Multicall3, the development token and the stand-ins of x402's settlement contract and deposit
 * collector where real chains have Multicall3, USDC and those two, and the batch contract where a
 * relayer would deploy it.
 */
export async function installContracts(client: AnvilClient): Promise<void> {
  for (const [address, bytecode] of [
    [USDC_ADDRESS, DevUsdc.runtimeCode],
    [MULTICALL3_ADDRESS, Multicall3.runtimeCode],
    [CAPPED_BATCH_ADDRESS, CappedBatch.runtimeCode],
    [BATCH_SETTLEMENT_ADDRESS, BatchSettlement.runtimeCode],
    [DEPOSIT_COLLECTOR_ADDRESS, DepositCollector.runtimeCode],
  ] as const) {
    if ((await client.getCode({ address })) === undefined) {
      await client.setCode({ address, bytecode });
    }
  }
}

/** The storage slot of `mapping(address => …)` at `slot`, for this key (Solidity's layout). */
export function mappingSlot(account: Address, slot: bigint): Hex {
  return keccak256(
    encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [account, slot]),
  );
}

const balanceOf = (client: AnvilClient, account: Address) =>
  client.readContract({
    address: USDC_ADDRESS,
    abi: usdcAbi,
    functionName: 'balanceOf',
    args: [account],
  });

const SLOTS_TRIED = 64n;
/** Where FiatToken keeps its balances; tried first after the development token's own slot 0. */
const LIKELY_SLOTS = [0n, 9n];

/**
 * Finds the slot of the token's balance mapping by trying: write one, and see whether `balanceOf`
 * shows it. Needs no minter, so it works on a fork of real USDC. What was tried in vain is put back.
 */
export async function findBalanceSlot(client: AnvilClient): Promise<bigint> {
  const probe: Address = '0x00000000000000000000000000000000005eed42';
  const rest = Array.from({ length: Number(SLOTS_TRIED) }, (_, slot) => BigInt(slot));
  for (const slot of new Set([...LIKELY_SLOTS, ...rest])) {
    const index = mappingSlot(probe, slot);
    const before =
      (await client.getStorageAt({ address: USDC_ADDRESS, slot: index })) ?? numberToHex(0);
    await client.setStorageAt({ address: USDC_ADDRESS, index, value: word(402_402n) });
    const found = (await balanceOf(client, probe)) === 402_402n;
    await client.setStorageAt({ address: USDC_ADDRESS, index, value: concatHex([before]) });
    if (found) return slot;
  }
  throw new Error(`the token at ${USDC_ADDRESS} keeps its balances in none of the slots tried`);
}

const word = (value: bigint) => numberToHex(value, { size: 32 });

/** Gives an account a balance of the token by writing it to its storage, and checks it. */
export async function giveUsdc(
  client: AnvilClient,
  account: Address,
  units: bigint,
  balanceSlot: bigint,
): Promise<void> {
  await client.setStorageAt({
    address: USDC_ADDRESS,
    index: mappingSlot(account, balanceSlot),
    value: word(units),
  });
  const balance = await balanceOf(client, account);
  if (balance !== units) throw new Error(`funding ${account} failed: it has ${balance} units`);
}
