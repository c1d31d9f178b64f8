/**
 * A real EVM for tests: anvil on a free port with USDC and Multicall3 at their addresses.
 *   const chain = await startTestChain();               // blocks every 0.25 s; { blockTimeSeconds: 'manual' }: chain.mine()
 *   const payer = await chain.newPayer({ usdc: 100n });  // or newPayers(64, { usdc })
 *   const signed = await chain.sign(payer, { value: 50n });  // a SignedAuthorization to chain.payTo
 *   await chain.transfers(payer.address);                // Transfer logs; also uses(), client, rpcUrl, devUsdc()
 *   await chain.stop();                                  // in afterAll
 *   const chain = await reachTestChain(rpcUrl);          // the same on a development chain that runs
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createWalletClient,
  encodeFunctionData,
  http,
  numberToHex,
  parseEther,
  type ContractFunctionArgs,
} from 'viem';
import {
  generatePrivateKey,
  privateKeyToAccount,
  privateKeyToAddress,
  type PrivateKeyAccount,
} from 'viem/accounts';
import { BASE_CHAIN_ID, USDC_ADDRESS, USDC_DOMAIN } from '../../contracts-abi/addresses.js';
import { authorizationTypes, devUsdcAbi, usdcAbi } from '../../contracts-abi/usdc.js';
import { startAnvil } from '../../gateway/dev/anvil.js';
import { base } from '../../gateway/dev/base.js';
import {
  anvilClient,
  findBalanceSlot,
  installContracts,
  mappingSlot,
  type AnvilClient,
} from '../../gateway/dev/funding.js';
import { devAccounts } from '../../gateway/dev/accounts.js';
import {
  address,
  bytes32,
  unixSeconds,
  usdcUnits,
  type Address,
  type Bytes32,
  type Hex,
} from '../../gateway/ground/domain/units.js';
import type {
  Authorization,
  SignedAuthorization,
} from '../../gateway/money/payment/authorization.js';

/** A fresh account with USDC and no ETH. */
export interface Payer {
  readonly privateKey: Hex;
  readonly address: Address;
  readonly account: PrivateKeyAccount;
}

/** One transfer of the token, as the chain's logs tell it. */
export interface ChainTransfer {
  readonly from: Address;
  readonly to: Address;
  readonly value: bigint;
  readonly transaction: Bytes32;
  readonly blockNumber: bigint;
}

export interface TestChainOptions {
  /** Seconds between blocks, fractions allowed, default 0.25; `'manual'`: only `mine()` mines. */
  readonly blockTimeSeconds?: number | 'manual';
  /** Further arguments for anvil, such as `--gas-limit`. */
  readonly anvilArgs?: readonly string[];
}

export type TestChain = Awaited<ReturnType<typeof startTestChain>>;

/** Not the development accounts: the service refuses those on a chain that it did not start. */
const RELAYER_KEY: Hex = `0x${'4e'.repeat(32)}`;
const CHAIN_FACTS = {
  chainId: BASE_CHAIN_ID,
  asset: address(USDC_ADDRESS),
  payTo: address(privateKeyToAddress(`0x${'9a'.repeat(32)}`)),
  relayerPrivateKey: RELAYER_KEY,
  relayerAddress: address(privateKeyToAddress(RELAYER_KEY)),
};

/** Sends the token's control transactions, so that the relayer's nonces stay its own. */
const ISSUER_KEY: Hex = `0x${'15'.repeat(32)}`;

/** Starts a chain of its own for a test file; about 150 ms. */
export async function startTestChain(options: TestChainOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'search402-chain-'));
  const blockTime = options.blockTimeSeconds ?? 0.25;
  const anvil = await startAnvil({
    port: 0,
    logFile: join(folder, 'anvil.log'),
    args: [
      ...['--chain-id', String(BASE_CHAIN_ID)],
      ...(blockTime === 'manual' ? ['--no-mining'] : ['--block-time', String(blockTime)]),
      ...(options.anvilArgs ?? []),
    ],
  });
  await installContracts(anvilClient(anvil.rpcUrl));
  const chain = await reachTestChain(anvil.rpcUrl, { isManual: blockTime === 'manual' });
  // EIP-3009 wants a time strictly after `validAfter`, so the chain needs a block.
  await chain.mine(1);
  return {
    ...chain,
    /** anvil's process id, for tests that pause or kill it. */
    pid: anvil.pid,
    stop: async () => {
      await anvil.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What tests do with a local chain that somebody else has started and ends. */
export type ReachedChain = Awaited<ReturnType<typeof reachTestChain>>;

export async function reachTestChain(rpcUrl: string, { isManual = false } = {}) {
  const client = anvilClient(rpcUrl);
  const balanceSlot = await findBalanceSlot(client);
  for (const account of [CHAIN_FACTS.relayerAddress, privateKeyToAddress(ISSUER_KEY)]) {
    await client.setBalance({ address: account, value: parseEther('1000') });
  }
  return {
    ...CHAIN_FACTS,
    rpcUrl,
    /** viem's test and public actions on this chain. */
    client,
    ...payers(rpcUrl, balanceSlot),
    ...logs(client),
    ...senders(rpcUrl, client, isManual),
    sign,
    cancellation,
    /** Mines this many blocks now, in any mode. */
    mine: (blocks = 1) => client.mine({ blocks }),
    balance: (account: Address) =>
      client.readContract({
        address: USDC_ADDRESS,
        abi: usdcAbi,
        functionName: 'balanceOf',
        args: [account],
      }),
  };
}

/** The chain that a service without chain settings has started, with that service's parties. */
export async function reachDevChain(rpcUrl: string) {
  return {
    ...(await reachTestChain(rpcUrl)),
    payTo: address(devAccounts.payTo),
    relayerPrivateKey: devAccounts.relayerPrivateKey,
    relayerAddress: address(devAccounts.relayerAddress),
  };
}

function payers(rpcUrl: string, balanceSlot: bigint) {
  /** Sets balances of the token, all in one request. */
  const fund = async (accounts: readonly Address[], usdc: bigint) => {
    const calls = accounts.map((account, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'anvil_setStorageAt',
      params: [USDC_ADDRESS, mappingSlot(account, balanceSlot), numberToHex(usdc, { size: 32 })],
    }));
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(calls),
    });
    const answers = (await response.json()) as { error?: { message: string } }[];
    const failed = answers.find((answer) => answer.error);
    if (failed) throw new Error(`funding failed: ${String(failed.error?.message)}`);
  };
  const newPayers = async (count: number, { usdc }: { usdc: bigint }): Promise<Payer[]> => {
    const made = Array.from({ length: count }, () => payerOf(generatePrivateKey()));
    await fund(
      made.map((payer) => payer.address),
      usdc,
    );
    return made;
  };
  return {
    /** Sets the token balance of any accounts to `usdc` atomic units. */
    fund,
    /** Fresh accounts, each with this balance in atomic units. */
    newPayers,
    newPayer: async (options: { usdc: bigint }): Promise<Payer> => {
      const [payer] = await newPayers(1, options);
      if (!payer) throw new Error('no payer was made');
      return payer;
    },
  };
}

/** The payer of a private key. */
export function payerOf(privateKey: Hex): Payer {
  const account = privateKeyToAccount(privateKey);
  return { privateKey, address: address(account.address), account };
}

/** 32 random bytes. */
export const randomNonce = (): Bytes32 => bytes32(`0x${randomBytes(32).toString('hex')}`);

const domain = {
  ...USDC_DOMAIN,
  chainId: BASE_CHAIN_ID,
  verifyingContract: USDC_ADDRESS,
} as const;

/** Signs an EIP-3009 authorization; unless said otherwise to `payTo`, valid for 300 s from now. */
export async function sign(
  payer: Pick<Payer, 'account' | 'address'>,
  wanted: { value: bigint } & Partial<Omit<Authorization, 'value'>>,
): Promise<SignedAuthorization> {
  const authorization: Authorization = {
    chainId: BASE_CHAIN_ID,
    asset: address(USDC_ADDRESS),
    from: payer.address,
    to: CHAIN_FACTS.payTo,
    validAfter: unixSeconds(0),
    validBefore: unixSeconds(Math.floor(Date.now() / 1000) + 300),
    nonce: randomNonce(),
    ...wanted,
    value: usdcUnits(wanted.value),
  };
  const signature = await payer.account.signTypedData({
    domain: { ...domain, chainId: authorization.chainId, verifyingContract: authorization.asset },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
    },
  });
  return { ...authorization, signature };
}

/** The payer's signature under the cancellation of one of its authorizations. */
async function cancellation(payer: Payer, nonce: Bytes32): Promise<Hex> {
  return payer.account.signTypedData({
    domain,
    types: authorizationTypes,
    primaryType: 'CancelAuthorization',
    message: { authorizer: payer.address, nonce },
  });
}

function logs(client: AnvilClient) {
  return {
    /** Every Transfer of the token, optionally of one payer only, oldest first. */
    transfers: async (from?: Address): Promise<ChainTransfer[]> => {
      const found = await client.getContractEvents({
        address: USDC_ADDRESS,
        abi: usdcAbi,
        eventName: 'Transfer',
        args: from === undefined ? {} : { from },
        fromBlock: 0n,
        strict: true,
      });
      return found.map(({ args, transactionHash, blockNumber }) => ({
        from: address(args.from),
        to: address(args.to),
        value: args.value,
        transaction: bytes32(transactionHash),
        blockNumber,
      }));
    },
    /** Every use of an authorization, optionally of one payer only, oldest first. */
    uses: async (authorizer?: Address): Promise<{ authorizer: Address; nonce: Bytes32 }[]> => {
      const found = await client.getContractEvents({
        address: USDC_ADDRESS,
        abi: usdcAbi,
        eventName: 'AuthorizationUsed',
        args: authorizer === undefined ? {} : { authorizer },
        fromBlock: 0n,
        strict: true,
      });
      return found.map(({ args }) => ({
        authorizer: address(args.authorizer),
        nonce: bytes32(args.nonce),
      }));
    },
  };
}

type DevUsdcCall = 'mint' | 'pause' | 'unpause' | 'blacklist' | 'unBlacklist';

function senders(rpcUrl: string, client: AnvilClient, isManual: boolean) {
  const sendFrom = async (privateKey: Hex, to: Address, data: Hex, gas?: bigint) => {
    const wallet = createWalletClient({
      account: privateKeyToAccount(privateKey),
      chain: base,
      transport: http(rpcUrl),
    });
    const hash = await wallet.sendTransaction({ to, data, ...(gas !== undefined && { gas }) });
    if (isManual) await client.mine({ blocks: 1 });
    return client.waitForTransactionReceipt({ hash, timeout: 20_000 });
  };
  return {
    /** Sends a transaction from an account that has gas money, and waits until it is mined. */
    sendFrom,
    /** Sends a transaction from the relayer's account and waits until it is mined. */
    send: (to: Address, data: Hex, gas?: bigint) =>
      sendFrom(CHAIN_FACTS.relayerPrivateKey, to, data, gas),
    /** The token's open controls: `chain.devUsdc('pause')`, `('blacklist', [payer.address])`. */
    devUsdc: (functionName: DevUsdcCall, args: readonly unknown[] = []) =>
      sendFrom(
        ISSUER_KEY,
        CHAIN_FACTS.asset,
        encodeFunctionData({
          abi: devUsdcAbi,
          functionName,
          args: args as ContractFunctionArgs<typeof devUsdcAbi, 'nonpayable', 'mint'>,
        }),
      ),
  };
}
