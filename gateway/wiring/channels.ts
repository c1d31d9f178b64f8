import { isRefusal, refuse, type Refusal } from '../ground/domain/refusal.js';
import type { Clock, Log } from '../ground/domain/ports.js';
import type { Metrics } from '../ground/observe/metrics.js';
import { usdcUnits, type Address, type Bytes32, type UsdcUnits } from '../ground/domain/units.js';
import type { Store } from '../ground/store/store.js';
import { ChannelBooks } from '../money/channel-books/books.js';
import { ChainBooks } from '../money/channel-books/chain-books.js';
import { DepositBooks } from '../money/channel-books/deposit-books.js';
import { pruneVoucherReplies, pruneVouchers } from '../money/channel-books/retention.js';
import { createChannelCheck } from '../money/channels/check.js';
import { Claimer } from '../money/claims/claimer.js';
import { createChannelContract } from '../money/claims/contract.js';
import { createClaimCosts, type ClaimCosts } from '../money/claims/costs.js';
import { MinDeposit } from '../money/claims/min-deposit.js';
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
import type { DenyList } from '../money/payment/deny-list.js';
import { createDepositSearch, type DepositSearchParts } from '../search/deposit.js';
import type { SearchParts } from '../search/pipeline.js';
import { createRefund, type RefundReply } from '../search/refund.js';
import { refused } from '../search/reply.js';
import { createVoucherSearch, type VoucherTerms } from '../search/voucher.js';
import type { ChainAccess } from './chain-access.js';
import { channelFigures, measureChannels, type Figures } from './channel-figures.js';
import type { Config } from './config.js';
import { startHousekeeping } from './housekeeping.js';

/** Channels of payers, from the offer to the receipt. */
export interface Channels {
  /** What the challenge says of them. */
  offer(): Pick<Offer, 'channels'>;
  /** Whether a payment is one of a channel. */
  takes(payment: PresentedPayment): boolean;
  readonly search: SearchParts<PresentedPayment>['searchForPayment'];
  /** Gives back what the refund in a payment header asks for. */
  readonly refund: (header: string, requestId: string) => Promise<RefundReply>;
  /** A line for the operator. */
  figures(): Figures;
  stop(): Promise<void>;
}

/** Blocks from one look at the contract's events to the next, and the least time between them. */
const WATCH_BLOCKS = 5;
const WATCH_MS_MIN = 1000;
/** Milliseconds between chores that nothing waits for. */
const CHORES_MS = 15_000;
/** Milliseconds for which a voucher’s row answers clients that have lost count: 30 days. */
const ROW_MS = 30 * 86_400_000;
/** Milliseconds by which a search may outlast its time limit, before its voucher is given back. */
const SEARCH_SLACK_MS = 1000;
/** The share of what a channel has earned that its refund may cost, in hundredths. */
const REFUND_COST_PERCENT = 100;

/** What channels are opened with. */
interface ChannelParts {
  readonly store: Store;
  readonly chain: ChainAccess;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'gauge'>;
  readonly terms: PaymentTerms;
  readonly paid: DepositSearchParts['paid'] & { readonly ledger: Pick<Ledger, 'owner'> };
  readonly confirm: DepositSearchParts['confirm'];
  readonly denied: DenyList;
  /** Sends claims and refunds on the relayers’ lanes. */
  readonly sender: Parameters<typeof createContractSender>[0]['settlement'];
}

/**
 * Opens the channels, where the settings ask for them: their books, the watcher of the contract, and
 * the ways of vouchers and deposits.
 */
export async function openChannels(
  config: Config,
  parts: ChannelParts,
): Promise<Channels | undefined> {
  const { store, chain, clock, log, terms, paid } = parts;
  const [authorizer] = chain.authorizers;
  if (!config.CHANNELS || !authorizer) return undefined;
  // A third of the delay is left to claim in, when a withdrawal turns up at the last moment.
  const marginMs = (config.CHANNEL_WITHDRAW_DELAY_SECONDS * 1000) / 3;
  const books = new ChannelBooks({
    ...{ store, clock, chainId: chain.chainId, owner: paid.ledger.owner },
    searchMsMax: config.UPSTREAM_TIMEOUT_MS + SEARCH_SLACK_MS,
    claimMarginMs: marginMs,
  });
  const deposits = new DepositBooks(store, clock);
  const upkeep = openUpkeep(config, parts);
  const { offer, sale } = await openOffer(config, parts, authorizer.address, upkeep.costs);
  const refresh = (id: Bytes32, notBefore = 0n) => readInto(deposits, upkeep, id, notBefore);
  await deposits.completeDeposits();
  await upkeep.rounds.start();
  const chores = startHousekeeping(clock, log);
  chores.every(CHORES_MS, 'charging settled deposits', () => deposits.completeDeposits());
  let totals = await upkeep.books.totals();
  chores.every(CHORES_MS, 'counting what channels hold', async () => {
    totals = await upkeep.books.totals();
  });
  measureChannels(parts.metrics, () => totals);
  const retention = { replyMs: config.REPLY_RETENTION_SECONDS * 1000, rowMs: ROW_MS };
  chores.every(CHORES_MS, 'dropping replies of vouchers', () =>
    pruneVoucherReplies(store, clock, retention),
  );
  chores.every(CHORES_MS, 'dropping vouchers', () => pruneVouchers(store, clock, retention));
  if (chain.dev === undefined) chores.every(CHORES_MS, 'following the cost of deposits', sale.look);
  const voucherTerms: VoucherTerms = {
    price: config.PRICE_USD,
    window: windowOf(config),
    unsafeMax: config.CHANNEL_UNSAFE_USD,
  };
  const searchTerms = { books, terms: () => voucherTerms };
  const searchByVoucher = createVoucherSearch(searchTerms);
  const searchByDeposit = createDepositSearch({
    ...searchTerms,
    ...{ paid, confirm: parts.confirm, refresh },
  });
  const refund = createRefund({
    ...{ books, refunds: upkeep.refunds, refresh: ({ id }) => refresh(id) },
    freshness: () => ({ syncedAt: upkeep.rounds.sync?.syncedAt, now: clock.now(), marginMs }),
    waitMs: config.SETTLEMENT_WAIT_MS,
  });
  const checkPayment = createChannelCheck(chain.chainId, chain.domain, chain.asset);
  const check = (presented: PresentedPayment) =>
    checkPayment(presented, { terms, ...sale.current() });
  return {
    offer,
    takes: ({ scheme }) => scheme === BATCH_SETTLEMENT,
    search: async (presented, purchase, signal) => {
      const { requestId } = purchase;
      const checked = check(presented);
      if (isRefusal(checked)) return refused(requestId, checked);
      switch (checked.kind) {
        case 'voucher': {
          // An objection leaves the reply of a charged voucher to its payer.
          const objection = await parts.denied.objection(checked.payment.config.payer);
          const payment = { ...checked.payment, ...(objection && { objection }) };
          return searchByVoucher(payment, purchase, signal);
        }
        case 'deposit':
          return searchByDeposit(checked.payment, purchase, signal);
        case 'refund':
          return refused(requestId, REFUND_ELSEWHERE);
      }
    },
    refund: async (header, requestId) => {
      const presented = decodePaymentSignature(header);
      if (isRefusal(presented)) return { kind: 'refused', requestId, refusal: presented };
      const checked = check(presented);
      if (isRefusal(checked)) return refusedRefund(requestId, checked);
      return checked.kind === 'refund'
        ? refund(checked.payment, requestId)
        : refusedRefund(requestId, SEARCH_ELSEWHERE);
    },
    figures: () => channelFigures(totals),
    stop: async () => {
      await chores.stop();
      await upkeep.rounds.stop();
    },
  };
}

const windowOf = (config: Config) => usdcUnits(config.PRICE_USD * BigInt(config.CHANNEL_WINDOW));

/** What is asked of channels now, where the least deposit follows gas. */
async function openOffer(
  config: Config,
  { chain, clock }: ChannelParts,
  receiverAuthorizer: Address,
  costs: ClaimCosts,
) {
  const least = new MinDeposit({
    ...{ costs, clock, costPercentMax: config.CHANNEL_COST_PERCENT },
    floor: config.CHANNEL_MIN_DEPOSIT_USD,
    honouredMs: config.PAYMENT_TIMEOUT_SECONDS * 1000,
  });
  // Gas on a development chain says nothing about what it costs elsewhere.
  if (chain.dev === undefined) await least.look();
  const termsFor = (minDeposit: UsdcUnits): ChannelTerms => ({
    amount: config.PRICE_USD,
    receiverAuthorizer,
    withdrawDelaySeconds: config.CHANNEL_WITHDRAW_DELAY_SECONDS,
    minDeposit,
    window: windowOf(config),
  });
  let channels = termsFor(least.asked);
  const now = (): ChannelTerms => {
    // The same object while it stands: encoded challenges are remembered by it.
    if (channels.minDeposit !== least.asked) channels = termsFor(least.asked);
    return channels;
  };
  return {
    offer: () => ({ channels: now() }),
    sale: {
      current: () => ({ channels: now(), minDeposit: least.honoured }),
      look: () => least.look(),
    },
  };
}

/** Reads what the contract says about a channel now, and not before this block, into the books. */
async function readInto(
  deposits: DepositBooks,
  { contract, rpcChain }: Pick<ReturnType<typeof openUpkeep>, 'contract' | 'rpcChain'>,
  id: Bytes32,
  notBefore: bigint,
): Promise<void> {
  const newest = await rpcChain.block('latest');
  // An endpoint may lag behind the one that told of a settled deposit.
  const head = newest.number < notBefore ? await rpcChain.block(notBefore) : newest;
  const [state] = await contract.states([id], head.number);
  if (state) await deposits.recordState(id, state, head);
}

/** Whoever looks after the channels: what the chain says of them, claims, and the end of refunds. */
function openUpkeep(
  config: Config,
  { store, chain, clock, log, sender: settlement }: ChannelParts,
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
  const rounds = new ChannelUpkeep({ ...shared, claimer, refunds, everyMs });
  return { rounds, refunds, contract, rpcChain, costs, books };
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
