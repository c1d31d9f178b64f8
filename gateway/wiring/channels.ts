import { isRefusal, refuse } from '../ground/domain/refusal.js';
import type { Clock, Log } from '../ground/domain/ports.js';
import { usdcUnits } from '../ground/domain/units.js';
import type { Store } from '../ground/store/store.js';
import { ChannelBooks } from '../money/channel-books/books.js';
import { ChannelChainBooks } from '../money/channel-books/chain-books.js';
import { createChannelCheck, type ChannelSale } from '../money/channels/check.js';
import { createChannelChain } from '../money/claims/chain.js';
import { ChannelWatcher } from '../money/claims/watcher.js';
import { createRpcChain } from '../money/settlement/rpc-chain.js';
import { BATCH_SETTLEMENT } from '../money/x402/channel-payload.js';
import { channelReasons } from '../money/x402/channel-reasons.js';
import type { PresentedPayment } from '../money/x402/payment.js';
import type { ChannelTerms, Offer, PaymentTerms } from '../money/x402/terms.js';
import type { Ledger } from '../money/ledger/ledger.js';
import { createDepositSearch, type DepositSearchParts } from '../search/deposit.js';
import type { SearchParts } from '../search/pipeline.js';
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
  stop(): Promise<void>;
}

/** Milliseconds between looks at the contract's events. */
const WATCH_MS = 15_000;
/** Milliseconds by which a search may outlast its time limit, before its voucher is given back. */
const SEARCH_SLACK_MS = 1000;

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
  },
): Promise<Channels | undefined> {
  const { store, chain, clock, log, terms, paid } = parts;
  const [authorizer] = chain.relayers;
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
  const books = new ChannelBooks({
    ...{ store, clock, chainId: chain.chainId, owner: paid.ledger.owner },
    searchMsMax: config.UPSTREAM_TIMEOUT_MS + SEARCH_SLACK_MS,
    // A third of the delay is left to claim in, when a withdrawal turns up at the last moment.
    claimMarginMs: (withdrawDelaySeconds * 1000) / 3,
  });
  const watcher = new ChannelWatcher({
    chain: createChannelChain(createRpcChain(chain.chainId, chain.client), chain.client),
    books: new ChannelChainBooks(store, clock, chain.chainId),
    ...{ clock, log, everyMs: WATCH_MS },
  });
  await watcher.start();
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
    refresh: (ids) => watcher.refresh(ids),
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
    stop: () => watcher.stop(),
  };
}

const REFUND_ELSEWHERE = refuse('payment_invalid', 'A refund buys no search.', {
  reason: channelReasons.payloadType,
});
