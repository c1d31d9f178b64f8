import { join } from 'node:path';
import { existsSync, mkdirSync } from 'node:fs';
import { parseEther } from 'viem';
import { BASE_CHAIN_ID, USDC_ADDRESS } from '../../contracts-abi/addresses.js';
import type { Log } from '../ground/domain/ports.js';
import { address, type Address, type Hex } from '../ground/domain/units.js';
import { devAccounts } from './accounts.js';
import { startAnvil, type AnvilProcess } from './anvil.js';
import {
  anvilClient,
  findBalanceSlot,
  giveUsdc,
  installContracts,
  type AnvilClient,
} from './funding.js';
import { startStateSaver, type StateSaver } from './state-saver.js';
import { adopt, forget, remember } from './leftover.js';

export interface DevChainOptions {
  /** The chain keeps its state and log in `chain/` (or `fork/`) below this folder. */
  readonly dataDir: string;
  /** TCP port on 127.0.0.1; a free one by default. */
  readonly port?: number;
  /** Seconds between blocks, fractions allowed; default 1. */
  readonly blockTimeSeconds?: number;
  /** Fork the chain behind this RPC address instead of starting an empty one. */
  readonly forkUrl?: string;
  readonly log: Log;
}

/** A local chain with USDC, a funded payer and a funded relayer. All keys are worthless. */
export interface DevChain {
  readonly rpcUrl: string;
  readonly chainId: number;
  readonly asset: Address;
  readonly payerPrivateKey: Hex;
  readonly payerAddress: Address;
  readonly relayerPrivateKey: Hex;
  readonly relayerAddress: Address;
  /** Where payments go; not the relayer. */
  readonly payTo: Address;
  /** Saves the state and ends anvil. */
  stop(): Promise<void>;
}

/** 1,000 USD: twenty million searches at the default price. */
const PAYER_UNITS = 1_000_000_000n;
const RELAYER_WEI = parseEther('100');

/**
 * Starts the local development chain, or finds the one that a killed process left running.
 *
 * anvil mines a block every `blockTimeSeconds`. Its block times follow the wall clock in every
 * mining mode (anvil 1.7.1: several blocks in one second carry the same time, and none runs ahead),
 * as long as nobody calls `evm_setNextBlockTimestamp`, `evm_increaseTime` or the like.
 *
 * State is saved within about a second after a block with transactions, atomically, and when the
 * chain stops. A `kill -9` of the gateway leaves anvil running with everything; the next start
 * takes it over. A `kill -9` of anvil itself loses the blocks of the last second or so, and a power
 * failure does the same. A fork keeps no state: each start begins at the forked chain's head.
 *
 * Throws a readable sentence when anvil is missing, does not start, or the chain has no USDC.
 */
export async function startDevChain(options: DevChainOptions): Promise<DevChain> {
  const { log, forkUrl } = options;
  const folder = join(options.dataDir, forkUrl === undefined ? 'chain' : 'fork');
  mkdirSync(folder, { recursive: true });
  const blockTimeSeconds = options.blockTimeSeconds ?? 1;
  const stateFile = join(folder, 'state.json');
  const settings = JSON.stringify({ port: options.port ?? 0, blockTimeSeconds, forkUrl });

  const start = () =>
    startAnvil({
      port: options.port ?? 0,
      logFile: join(folder, 'anvil.log'),
      args: [
        ...['--chain-id', String(BASE_CHAIN_ID), '--block-time', String(blockTimeSeconds)],
        ...(forkUrl === undefined ? [] : ['--fork-url', forkUrl, '--no-storage-caching']),
        ...(forkUrl === undefined && existsSync(stateFile) ? ['--load-state', stateFile] : []),
      ],
    });
  const anvil = (await adopt(folder, settings, stateFile, log)) ?? (await start());
  const client = anvilClient(anvil.rpcUrl);
  try {
    await seed(client, forkUrl !== undefined);
    // The genesis block has the time 1, and whoever read it as the chain's time would refuse every
    // authorization for a minute: the first block that anybody sees has the time of day.
    await client.mine({ blocks: 1 });
    await remember(folder, settings, anvil, client);
  } catch (error) {
    await anvil.kill();
    throw error;
  }
  const saver =
    forkUrl === undefined
      ? await startStateSaver({ client, stateFile, logFile: join(folder, 'anvil.log'), log })
      : undefined;
  void anvil.ended.then(() => saver?.stop());
  log.info({ rpcUrl: anvil.rpcUrl, pid: anvil.pid, folder }, 'development chain is ready');
  return { rpcUrl: anvil.rpcUrl, ...facts, stop: () => stop(folder, anvil, saver, log) };
}

const facts = {
  chainId: BASE_CHAIN_ID,
  asset: address(USDC_ADDRESS),
  payerPrivateKey: devAccounts.payerPrivateKey,
  payerAddress: address(devAccounts.payerAddress),
  relayerPrivateKey: devAccounts.relayerPrivateKey,
  relayerAddress: address(devAccounts.relayerAddress),
  payTo: address(devAccounts.payTo),
} as const;

/** Brings contracts and balances to the chain; what is there already stays as it is. */
async function seed(client: AnvilClient, isFork: boolean): Promise<void> {
  if (isFork) {
    if ((await client.getCode({ address: USDC_ADDRESS })) === undefined) {
      throw new Error(`the forked chain has no contract at USDC's address ${USDC_ADDRESS}`);
    }
  } else {
    await installContracts(client);
  }
  const marker = await client.getBalance({ address: devAccounts.relayerAddress });
  if (marker > 0n && !isFork) return;
  const slot = await findBalanceSlot(client);
  await giveUsdc(client, devAccounts.payerAddress, PAYER_UNITS, slot);
  await client.setBalance({ address: devAccounts.relayerAddress, value: RELAYER_WEI });
}

async function stop(
  folder: string,
  anvil: AnvilProcess,
  saver: StateSaver | undefined,
  log: Log,
): Promise<void> {
  await saver?.saveAndStop();
  await anvil.kill();
  forget(folder);
  log.info({ pid: anvil.pid }, 'development chain stopped');
}
