import { isRefusal, refuse, type Refusal } from '../ground/domain/refusal.js';
import type { Clock, Log } from '../ground/domain/ports.js';
import { usdcUnits, type Bytes32 } from '../ground/domain/units.js';
import type { Store } from '../ground/store/store.js';
import { ChannelBooks } from '../money/channel-books/books.js';
import { ChainBooks } from '../money/channel-books/chain-books.js';
import { DepositBooks } from '../money/channel-books/deposit-books.js';
import { createChannelCheck, type ChannelSale } from '../money/channels/check.js';
import { Claimer } from '../money/claims/claimer.js';
import { createChannelContract } from '../money/claims/contract.js';
import { createClaimCosts } from '../money/claims/costs.js';
import { Refunds } from '../money/claims/refunds.js';
import { createContractSender } from '../money/claims/sender.js';
import { ChannelUpkeep } from '../money/claims/upkeep.js';
import { IntentBooks } from '../money/ledger/intent-books.js';
import { createRpcChain } from '../money/settlement/rpc-chain.js';
import { SETTLEMENT_DEFAULTS } from '../money/settlement/settings.js';
import { BATCH_SETTLEMENT } from '../money/x402/channel-payload.js';
import { channelReasons } from '../money/x402/channel-reasons.js';
import { decodePaymentSignature, type PresentedPayment } from '../money/x402/payment.js';
import type { ChannelTerms, Offer, PaymentTerms } from '../money/x402/terms.js';
import type { Ledger } from '../money/ledger/ledger.js';
import { createDepositSearch, type DepositSearchParts } from '../search/deposit.js';
import type { SearchParts } from '../search/pipeline.js';
import { createRefund, type RefundReply } from '../search/refund.js';
import { refused } from '../search/reply.js';
import { createVoucherSearch, type VoucherTerms } from '../search/voucher.js';
import type { ChainAccess } from './chain-access.js';
import type { Config } from './config.js';

/** Channels of payers, from the offer to the receipt. */
export interface Channels {
  /** What the challenge says of them. */
  offer(): Pick<Offer, 'channels'>;
  /** Whether a payment is one of a channel. */
  takes(payment: PresentedPayment): boolean;
  readonly search: SearchParts<PresentedPayment>['searchForPayment'];
  /** Gives back what the refund in a payment header asks for. */
  readonly refund: (header: string, requestId: string) => Promise<RefundReply>;
  stop(): Promise<void>;
}

/** Blocks from one look at the contract's events to the next, and the least time between them. */
const WATCH_BLOCKS = 5;
const WATCH_MS_MIN = 1000;
/** Milliseconds by which a search may outlast its time limit, before its voucher is given back. */
const SEARCH_SLACK_MS = 1000;
/** The share of what a channel has earned that its refund may cost, in hundredths. */
const REFUND_COST_PERCENT = 100;

/**
 * Opens the channels, where the settings ask for them: their books, the watcher of the contract, and
 * the ways of vouchers and deposits.
 */
export async function openChannels(
  config: Config,
  parts: {
    readonly store: Store;
    readonly chain: ChainAccess;
    readonly clock: Clock;
    readonly log: Log;
    readonly terms: PaymentTerms;
    readonly paid: DepositSearchParts['paid'] & { readonly ledger: Pick<Ledger, 'owner'> };
    readonly confirm: DepositSearchParts['confirm'];
    /** Sends claims and refunds on the relayers’ lanes. */
    readonly sender: Parameters<typeof createContractSender>[0]['settlement'];
  },
): Promise<Channels | undefined> {
  const { store, chain, clock, terms, paid } = parts;
  const [authorizer] = chain.authorizers;
  if (!config.CHANNELS || !authorizer) return undefined;
  const withdrawDelaySeconds = config.CHANNEL_WITHDRAW_DELAY_SECONDS;
  const channels: ChannelTerms = {
    amount: config.PRICE_USD,
    receiverAuthorizer: authorizer.address,
    withdrawDelaySeconds,
    minDeposit: config.CHANNEL_MIN_DEPOSIT_USD,
    window: usdcUnits(config.PRICE_USD * BigInt(config.CHANNEL_WINDOW)),
  };
  const sale: ChannelSale = { terms, channels, minDeposit: channels.minDeposit };
  // A third of the delay is left to claim in, when a withdrawal turns up at the last moment.
  const marginMs = (withdrawDelaySeconds * 1000) / 3;
  const books = new ChannelBooks({
    ...{ store, clock, chainId: chain.chainId, owner: paid.ledger.owner },
    searchMsMax: config.UPSTREAM_TIMEOUT_MS + SEARCH_SLACK_MS,
    claimMarginMs: marginMs,
  });
  const deposits = new DepositBooks(store, clock);
  const { upkeep, refunds, contract, rpcChain } = openUpkeep(config, parts);
  const refresh = async (channelIds: readonly Bytes32[]): Promise<void> => {
    const head = await rpcChain.block('latest');
    const states = await contract.states(channelIds, head.number);
    for (const [index, state] of states.entries()) {
      const id = channelIds[index];
      if (id) await deposits.recordState(id, state, head);
    }
  };
  await deposits.completeDeposits();
  await upkeep.start();
  const voucherTerms: VoucherTerms = {
    price: channels.amount,
    window: channels.window,
    unsafeMax: config.CHANNEL_UNSAFE_USD,
  };
  const searchTerms = { books, terms: () => voucherTerms };
  const searchByVoucher = createVoucherSearch(searchTerms);
  const searchByDeposit = createDepositSearch({
    ...searchTerms,
    ...{ paid, confirm: parts.confirm },
    refresh,
  });
  const refund = createRefund({
    ...{ books, refunds, refresh: ({ id }) => refresh([id]) },
    freshness: () =>
      Promise.resolve({ syncedAt: upkeep.sync?.syncedAt, now: clock.now(), marginMs }),
    waitMs: config.SETTLEMENT_WAIT_MS,
  });
  const check = createChannelCheck(chain.chainId, chain.domain, chain.asset);
  return {
    offer: () => ({ channels }),
    takes: ({ scheme }) => scheme === BATCH_SETTLEMENT,
    search: (presented, purchase, signal) => {
      const { requestId } = purchase;
      const checked = check(presented, sale);
      if (isRefusal(checked)) return Promise.resolve(refused(requestId, checked));
      switch (checked.kind) {
        case 'voucher':
          return searchByVoucher(checked.payment, purchase, signal);
        case 'deposit':
          return searchByDeposit(checked.payment, purchase, signal);
        case 'refund':
          return Promise.resolve(refused(requestId, REFUND_ELSEWHERE));
      }
    },
    refund: async (header, requestId) => {
      const presented = decodePaymentSignature(header);
      if (isRefusal(presented)) return { kind: 'refused', requestId, refusal: presented };
      const checked = check(presented, sale);
      if (isRefusal(checked)) return refusedRefund(requestId, checked);
      return checked.kind === 'refund'
        ? refund(checked.payment, requestId)
        : refusedRefund(requestId, SEARCH_ELSEWHERE);
    },
    stop: () => upkeep.stop(),
  };
}

/** Whoever looks after the channels: what the chain says of them, claims, and the end of refunds. */
function openUpkeep(
  config: Config,
  {
    store,
    chain,
    clock,
    log,
    sender: settlement,
  }: Pick<Parameters<typeof openChannels>[1], 'store' | 'chain' | 'clock' | 'log' | 'sender'>,
) {
  const { authorizers } = chain;
  const rpcChain = createRpcChain(chain.chainId, chain.client);
  const contract = createChannelContract(rpcChain, chain.client);
  const books = new ChainBooks(store, clock, chain.chainId);
  const intents = new IntentBooks(store);
  const sender = createContractSender({ settlement, intents, chainId: chain.chainId });
  const costs = createClaimCosts({
    chain: rpcChain,
    priorityFeePerGas: SETTLEMENT_DEFAULTS.priorityFeePerGas,
    ethUsdE6: () => BigInt(Math.round(config.ETH_USD * 1e6)),
  });
  const shared = { chain: rpcChain, contract, books, sender, authorizers, costs, clock, log };
  const claimer = new Claimer({
    ...shared,
    settings: {
      costPercentMax: config.CHANNEL_COST_PERCENT,
      deadlineMs: config.CHANNEL_CLAIM_SECONDS * 1000,
    },
  });
  const refunds = new Refunds({ ...shared, intents, costPercentMax: REFUND_COST_PERCENT });
  const everyMs = Math.max(WATCH_BLOCKS * chain.blockTimeMs, WATCH_MS_MIN);
  const upkeep = new ChannelUpkeep({ ...shared, claimer, refunds, everyMs });
  return { upkeep, refunds, contract, rpcChain, costs };
}

function refusedRefund(requestId: string, refusal: Refusal): RefundReply {
  const offer = { error: refusal.reason ?? refusal.code };
  return { kind: 'refused', requestId, refusal, offer };
}

const SEARCH_ELSEWHERE = refuse(
  'payment_invalid',
  'Only refunds are taken here. Searches are paid for at POST /search.',
  { reason: channelReasons.payloadType },
);

const REFUND_ELSEWHERE = refuse('payment_invalid', 'A refund buys no search.', {
  reason: channelReasons.payloadType,
});
