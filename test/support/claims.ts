/**
 * Channels with their upkeep on a test chain, without a gateway around them.
 *   const claims = await startClaims(chain, { settings: { costPercentMax: 5 } });
 *   const channel = await claims.open(payer, { deposit: 10_000n });      // deposited on the chain
 *   await claims.charge(channel, 500n);   // as if searches for so much had been answered
 *   await claims.round();                 // look, claim, thaw: what the upkeep does from time to time
 */
import { privateKeyToAccount } from 'viem/accounts';
import type { ChannelConfig } from '../../contracts-abi/batch-settlement.js';
import { address, bytes32, unixMillis, type Bytes32 } from '../../gateway/ground/domain/units.js';
import { ChannelBooks } from '../../gateway/money/channel-books/books.js';
import { ChainBooks } from '../../gateway/money/channel-books/chain-books.js';
import { CHANNEL_MIGRATIONS } from '../../gateway/money/channel-books/migrations.js';
import type { ChannelTx } from '../../gateway/money/channel-books/tables.js';
import { type Authorizer, createLocalAuthorizer } from '../../gateway/money/claims/authorizer.js';
import { Claimer, type ClaimSettings } from '../../gateway/money/claims/claimer.js';
import { createChannelContract } from '../../gateway/money/claims/contract.js';
import { createClaimCosts } from '../../gateway/money/claims/costs.js';
import { Refunds } from '../../gateway/money/claims/refunds.js';
import { createContractSender } from '../../gateway/money/claims/sender.js';
import { lookAtChannels } from '../../gateway/money/claims/watcher.js';
import { createRpcChain } from '../../gateway/money/settlement/rpc-chain.js';
import type { Payer, TestChain } from './chain.js';
import {
  channelCall,
  channelOf,
  depositCall,
  idOf,
  settlement,
  signDeposit,
  signVoucher,
} from './channels.js';
import { realClock, silentLog } from './ports.js';
import { countingRpc, startBench, type BenchOptions } from './settlements.js';

/** The key that channels of these tests name as their receiver's authorizer. */
export const AUTHORIZER_KEY = `0x${'a7'.repeat(32)}` as const;

/** Tests move the chain's clock by days. */
const FOR_EVER = { validBefore: 1n << 40n };
/** A payer's ETH for calls of its own. */
const GAS_MONEY = 10n ** 18n;

export interface OpenedChannel {
  readonly config: ChannelConfig;
  readonly id: Bytes32;
  readonly payer: Payer;
}

export interface ClaimsOptions extends BenchOptions {
  readonly claims?: Partial<ClaimSettings>;
  /** Stands between refunds and the key that authorizes them. */
  readonly authorizer?: (real: Authorizer) => Authorizer;
  /** Whether no other gateway writes into the books; as the store has it unless said otherwise. */
  readonly isExclusive?: boolean;
  /** Milliseconds that the claims' clock is ahead. */
  readonly aheadMs?: () => number;
}

export async function startClaims(chain: TestChain, options: ClaimsOptions = {}) {
  const bench = await startBench(chain, { ...options, migrations: CHANNEL_MIGRATIONS });
  const rpc = countingRpc(chain.rpcUrl);
  const rpcChain = createRpcChain(chain.chainId, rpc);
  const clock = {
    ...realClock,
    now: () => unixMillis(Date.now() + (options.aheadMs?.() ?? 0)),
  };
  const isExclusive = options.isExclusive ?? bench.store.isExclusive;
  const books = new ChainBooks({ ...bench.store, isExclusive }, clock, chain.chainId);
  const vouchers = new ChannelBooks({
    store: bench.store,
    clock,
    chainId: chain.chainId,
    owner: 'test',
    searchMsMax: 60_000,
    claimMarginMs: 60_000,
  });
  const contract = createChannelContract(rpcChain, rpc);
  const sender = createContractSender({
    settlement: bench.settlement,
    intents: bench.books.intents,
    chainId: chain.chainId,
  });
  const local = createLocalAuthorizer(AUTHORIZER_KEY, chain.chainId);
  const authorizers = [options.authorizer?.(local) ?? local];
  const costs = createClaimCosts({
    chain: rpcChain,
    // So much that the test chain's falling base fee changes little: a row costs 73 to 146 units.
    priorityFeePerGas: 1_000_000_000n,
    ethUsdE6: () => 3_000_000n,
  });
  const log = process.env.LOG ? console : silentLog;
  const claimer = new Claimer({
    ...{ chain: rpcChain, contract, books, sender, authorizers, costs, clock, log },
    settings: { costPercentMax: 5, deadlineMs: 86_400_000, ...options.claims },
  });
  const refunds = new Refunds({
    ...{ chain: rpcChain, contract, books, sender, authorizers, costs, clock, log },
    intents: bench.books.intents,
    costPercentMax: 100,
  });
  const authorizer = address(privateKeyToAccount(AUTHORIZER_KEY).address);
  const look = () => lookAtChannels({ chain: rpcChain, contract, books, clock, log });
  return {
    ...{ bench, books, vouchers, contract, claimer, refunds, look, rpc },
    /** Opens a channel: on the chain, and in the books as a deposit's request would. */
    open: async (payer: Payer, { deposit }: { deposit: bigint }): Promise<OpenedChannel> => {
      const config = channelOf(payer, { receiver: chain.payTo, receiverAuthorizer: authorizer });
      await chain.client.setBalance({ address: payer.address, value: GAS_MONEY });
      const call = depositCall(config, await signDeposit(payer, config, deposit, FOR_EVER));
      await chain.sendFrom(payer.privateKey, settlement, call);
      const id = bytes32(idOf(config));
      await vouchers.open(id, {
        payer: address(config.payer),
        payerAuthorizer: address(config.payerAuthorizer),
        receiver: address(config.receiver),
        receiverAuthorizer: address(config.receiverAuthorizer),
        token: address(config.token),
        withdrawDelay: config.withdrawDelay,
        salt: bytes32(config.salt),
      });
      return { config, id, payer };
    },
    /** Books that searches for so much were answered, under a voucher for exactly that or more. */
    charge: async ({ config, id, payer }: OpenedChannel, charged: bigint, signed = charged) => {
      const signature = await signVoucher(payer.account, config, signed);
      await bench.store.write((tx: ChannelTx) =>
        tx
          .updateTable('channels')
          .set({ charged, signed, signature, charged_at: BigInt(clock.now()) })
          .where('id', '=', id)
          .execute(),
      );
    },
    /** What the upkeep does from time to time; returns how many channels were claimed. */
    round: async (): Promise<number> => {
      const block = await look();
      const claimed = await claimer.claimDue(block);
      const sync = await books.lastSync();
      if (sync) await refunds.thaw(sync.safeBlock);
      return claimed;
    },
    stop: () => bench.discard(),
  };
}

/** Sends a payer's own call of the settlement contract. */
export async function withdraw(
  chain: TestChain,
  { config, payer }: OpenedChannel,
  step: { start: bigint } | 'finish',
): Promise<void> {
  const data =
    step === 'finish'
      ? channelCall('finalizeWithdraw', [config])
      : channelCall('initiateWithdraw', [config, step.start]);
  await chain.sendFrom(payer.privateKey, settlement, data);
}
