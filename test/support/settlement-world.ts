import {
  createWalletClient,
  decodeErrorResult,
  http,
  parseEther,
  parseEventLogs,
  type TransactionReceipt,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { base } from 'viem/chains';
import { batchSettlementAbi, type ChannelConfig } from '../../contracts-abi/batch-settlement.js';
import { address, type Address, type Hex } from '../../gateway/ground/domain/units.js';
import { randomNonce, startTestChain, type Payer } from './chain.js';
import {
  channelOf,
  claimCall,
  claimRow,
  depositCall,
  settlement,
  signClaims,
  signDeposit,
  signVoucher,
  type ClaimRow,
} from './channels.js';

/** Authorizes what the receivers of these channels claim and refund. */
export const authorizer = privateKeyToAccount(`0x${'a7'.repeat(32)}`);

export type SettlementWorld = Awaited<ReturnType<typeof startSettlementWorld>>;

/** A chain of its own with the settlement contract; blocks are made when a test says so. */
export async function startSettlementWorld() {
  const anvilArgs = ['--gas-limit', '60000000'];
  const chain = await startTestChain({ blockTimeSeconds: 'manual', anvilArgs });
  await chain.client.setBalance({ address: authorizer.address, value: parseEther('10') });
  const relayer: Address = chain.relayerAddress;

  /** A payer with USDC and ETH, and a channel of theirs into which they have put `deposit` units. */
  async function openChannel(deposit: bigint, change: Partial<ChannelConfig> = {}) {
    const payer = await chain.newPayer({ usdc: 1_000_000n });
    await chain.client.setBalance({ address: payer.address, value: parseEther('10') });
    const receiver = address(`0x${randomNonce().slice(-40)}`);
    const config = channelOf(payer, {
      receiver,
      receiverAuthorizer: authorizer.address,
      ...change,
    });
    const opened = await chain.send(
      settlement,
      depositCall(config, await signDeposit(payer, config, deposit)),
      1_000_000n,
    );
    if (opened.status !== 'success') throw new Error('the deposit failed');
    return { payer, config, receiver, opened };
  }

  /** Sends from an account of the test's, with ETH of its own. */
  /** Sends from an account of the test's, with ETH of its own. */
  async function sendAs(account: Payer['account'], data: Hex): Promise<TransactionReceipt> {
    const wallet = createWalletClient({ account, chain: base, transport: http(chain.rpcUrl) });
    const hash = await wallet.sendTransaction({ to: settlement, data, gas: 1_000_000n });
    await chain.mine();
    return chain.client.getTransactionReceipt({ hash });
  }

  /** How this call would end: `passes`, the name of the contract's error, or the token's words. */
  async function outcome(data: Hex, from: Hex = relayer, to: Hex = settlement): Promise<string> {
    // Not through viem: anvil's message shows some selectors as text, and only `data` is exact.
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_call',
      params: [{ from, to, data }, 'latest'],
    };
    const response = await fetch(chain.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(call),
    });
    const { error } = (await response.json()) as { error?: { message: string; data?: Hex } };
    if (error === undefined) return 'passes';
    if (error.data?.length !== 10) return error.message;
    return decodeErrorResult({ abi: batchSettlementAbi, data: error.data }).errorName;
  }

  return { chain, relayer, openChannel, sendAs, outcome };
}

export const row = async (payer: Payer, config: ChannelConfig, ceiling: bigint, total = ceiling) =>
  claimRow(config, ceiling, await signVoucher(payer.account, config, ceiling), total);

export const claimOf = async (...rows: readonly ClaimRow[]) =>
  claimCall(rows, await signClaims(authorizer, rows));

/** The settlement contract's events of a transaction, addresses in lower case. */
export const events = ({ logs }: TransactionReceipt) =>
  parseEventLogs({ abi: batchSettlementAbi, logs }).map(({ eventName, args }) => ({
    eventName,
    ...Object.fromEntries(
      Object.entries(args).map(([name, value]) => [
        name,
        typeof value === 'string' ? value.toLowerCase() : value,
      ]),
    ),
  }));
