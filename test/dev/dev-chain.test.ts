import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEther } from 'viem';
import { USDC_ADDRESS } from '../../contracts-abi/addresses.js';
import { usdcAbi } from '../../contracts-abi/usdc.js';
import { anvilBinary } from '../../gateway/dev/anvil.js';
import { startDevChain, type DevChain } from '../../gateway/dev/chain.js';
import { anvilClient } from '../../gateway/dev/funding.js';
import type { Address } from '../../gateway/ground/domain/units.js';
import { startTestChain } from '../support/chain.js';
import { memoryLog } from '../support/log.js';
import { until } from '../support/until.js';

let dataDir: string;
const running = new Set<DevChain>();
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'search402-dev-'));
});
afterEach(async () => {
  for (const chain of running) await chain.stop();
  running.clear();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(options: { blockTimeSeconds?: number; forkUrl?: string } = {}) {
  const log = memoryLog();
  const chain = await startDevChain({ dataDir, blockTimeSeconds: 0.2, ...options, log });
  running.add(chain);
  return { chain, log, client: anvilClient(chain.rpcUrl) };
}

async function stop(chain: DevChain): Promise<void> {
  running.delete(chain);
  await chain.stop();
}

const usdcOf = (rpcUrl: string, account: Address) =>
  anvilClient(rpcUrl).readContract({
    address: USDC_ADDRESS,
    abi: usdcAbi,
    functionName: 'balanceOf',
    args: [account],
  });

/** Moves one unit of ether from the relayer, as something to be found again. */
async function leaveTrace(chain: DevChain) {
  const client = anvilClient(chain.rpcUrl);
  await client.impersonateAccount({ address: chain.relayerAddress });
  const hash = await client.sendUnsignedTransaction({
    from: chain.relayerAddress,
    to: chain.payTo,
    value: 1n,
  });
  return client.waitForTransactionReceipt({ hash });
}

describe('the development chain', () => {
  test('starts with USDC, a funded payer and a funded relayer that is not the payee', async () => {
    const { chain, client } = await start();
    expect(await client.getChainId()).toBe(8453);
    expect(await usdcOf(chain.rpcUrl, chain.payerAddress)).toBe(1_000_000_000n);
    expect(await client.getBalance({ address: chain.relayerAddress })).toBe(parseEther('100'));
    expect(chain.payTo).not.toBe(chain.relayerAddress);
  });

  test('has block times that keep to the wall clock, several blocks in one second too', async () => {
    const { client } = await start({ blockTimeSeconds: 0.1 });
    const before = await client.getBlockNumber();
    await until(async () => (await client.getBlockNumber()) > before + 15n);
    const block = await client.getBlock();
    const aheadSeconds = Number(block.timestamp) - Date.now() / 1000;
    expect(aheadSeconds).toBeLessThanOrEqual(0);
    expect(aheadSeconds).toBeGreaterThan(-10);
  });

  test('finds everything again after a stop, and its clock is not late', async () => {
    const first = await start();
    const receipt = await leaveTrace(first.chain);
    await stop(first.chain);
    expect(existsSync(join(dataDir, 'chain', 'anvil.json'))).toBe(false);

    const second = await start();
    const again = await second.client.getTransactionReceipt({ hash: receipt.transactionHash });
    expect(again.blockHash).toBe(receipt.blockHash);
    expect(await second.client.getTransactionCount({ address: second.chain.relayerAddress })).toBe(
      1,
    );
    expect(await second.client.getBalance({ address: second.chain.relayerAddress })).toBeLessThan(
      parseEther('100'),
    );
    const next = await leaveTrace(second.chain);
    const { timestamp } = await second.client.getBlock({ blockNumber: next.blockNumber });
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(20);
  });

  test('is taken over, running, after the process that started it was killed', async () => {
    const program = new URL('../support/dev-chain-process.js', import.meta.url).pathname;
    const parent = spawn(process.execPath, [program, dataDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(parent, 'close');
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    parent.kill('SIGKILL');
    await closed;
    const rpcUrl = line.toString().trim();
    const client = anvilClient(rpcUrl);
    const genesis = await client.getBlock({ blockNumber: 0n });

    const { chain, log } = await start();
    expect(chain.rpcUrl).toBe(rpcUrl);
    expect(log.messages[0]).toContain('taking over');
    expect((await client.getBlock({ blockNumber: 0n })).hash).toBe(genesis.hash);
    await stop(chain);
    await expect(client.getBlockNumber()).rejects.toThrow();
  });

  test('another anvil at a remembered address is not mistaken for it', async () => {
    const other = await startTestChain();
    try {
      const { chain } = await start();
      await stop(chain);
      const note = {
        pid: other.pid,
        rpcUrl: other.rpcUrl,
        settings: JSON.stringify({ port: 0, blockTimeSeconds: 0.2 }),
        mark: `0x${'11'.repeat(32)}`,
      };
      writeFileSync(join(dataDir, 'chain', 'anvil.json'), JSON.stringify(note));
      const again = await start();
      expect(again.chain.rpcUrl).not.toBe(other.rpcUrl);
      await stop(again.chain);
      expect(await other.client.getChainId()).toBe(8453);
    } finally {
      await other.stop();
    }
  });

  test('as a fork it leaves the forked token alone and funds the payer without a minter', async () => {
    const origin = await startTestChain();
    try {
      const holder = await origin.newPayer({ usdc: 77n });
      await origin.mine();
      const { chain } = await start({ forkUrl: origin.rpcUrl });
      expect(await usdcOf(chain.rpcUrl, holder.address)).toBe(77n);
      expect(await usdcOf(chain.rpcUrl, chain.payerAddress)).toBe(1_000_000_000n);
      expect(await origin.balance(chain.payerAddress)).toBe(0n);
    } finally {
      await Promise.all([...running].map(stop));
      await origin.stop();
    }
  });

  test('says what to do where anvil has no binary for the platform', () => {
    expect(() => anvilBinary('aix', 'ppc64')).toThrow(/@foundry-rs\/anvil-aix-ppc64.*RPC_URLS/);
  });
});
