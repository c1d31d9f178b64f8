import type { ChainAccess } from './chain-access.js';
import type { Config } from './config.js';
import type { Clock, Log, Random } from '../ground/domain/ports.js';
import { createLivePrice, type EthUsd, type LivePrice } from '../money/payment/price.js';
import { createPricing, type Pricing } from '../money/payment/pricing.js';
import { createQuotes, quoteKey } from '../money/payment/quotes.js';
import type { Offer } from '../money/x402/terms.js';

/** What a search costs, for as long as the service runs. */
interface SearchPrice extends Pricing {
  stop(): Promise<void>;
}

/** One transfer alone on Base, measured; batches take less, and the price does not count on them. */
const GAS_UNITS = 85_700n;
/** Tip in wei for one unit of gas; Base's usual one. */
const PRIORITY_FEE_WEI = 1_000_000n;
/** Bytes of a transaction with one transfer in it, signature and all. */
const TRANSACTION_BYTES = 450;
/** The feed of ETH on Base is renewed every 20 minutes at the latest; two may be missed. */
const FEED_AGE_SECONDS_MAX = 3600;
const REFRESH_EVERY_MS = 15_000;
const REFRESH_DEADLINE_MS = 3_000;
const SECRET_BYTES = 32;

/**
 * The price of a search: `PRICE_USD`, and with `PRICE_COVERS_GAS=on` the live cost of settling it
 * on top, quoted with a signature.
 * @throws when the cost cannot be told at start; later the last known one stands.
 */
export async function openSearchPrice(
  config: Config,
  parts: { chain: ChainAccess; clock: Clock; random: Random; log: Log } & Offer,
): Promise<SearchPrice> {
  const { chain, clock, random, log, terms, resource } = parts;
  if (!config.PRICE_COVERS_GAS) {
    const standing = { terms, resource };
    return { offer: () => standing, honours: () => false, stop: () => Promise.resolve() };
  }
  const live = createLivePrice({
    chain: chain.client,
    clock,
    log,
    floor: terms.amount,
    gas: {
      gasUnits: GAS_UNITS,
      priorityFeeWei: PRIORITY_FEE_WEI,
      transactionBytes: TRANSACTION_BYTES,
    },
    ethUsd: ethUsdOf(config),
    everyMs: REFRESH_EVERY_MS,
    deadlineMs: REFRESH_DEADLINE_MS,
  });
  await live.refresh();
  const [secret = random.bytes(SECRET_BYTES), ...older] = config.QUOTE_SECRET ?? [];
  const pricing = createPricing({
    clock,
    terms,
    resource,
    amount: live.amount,
    price: terms.amount,
    quotes: createQuotes([quoteKey(secret), ...older.map(quoteKey)]),
  });
  return { ...pricing, stop: keepFresh(live) };
}

function keepFresh(live: LivePrice): () => Promise<void> {
  const end = new AbortController();
  const running = live.run(end.signal);
  return async () => {
    end.abort();
    await running;
  };
}

function ethUsdOf({ ETH_USD_FEED: feed, ETH_USD }: Config): EthUsd {
  return feed
    ? { kind: 'feed', feed, ageMaxSeconds: FEED_AGE_SECONDS_MAX }
    : { kind: 'fixed', usdE8: BigInt(Math.round(ETH_USD * 1e8)) };
}
