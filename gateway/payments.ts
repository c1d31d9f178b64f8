import type { ChainAccess } from './chain-access.js';
import type { Config } from './config.js';
import type { Clock, Log, Random } from './domain/ports.js';
import { createLedger } from './ledger/ledger.js';
import type { PartHealth } from './observe/health.js';
import type { PaymentWire } from './http/search-route.js';
import { createVerifier } from './payment/verifier.js';
import { createPaidSearch } from './search/paid.js';
import type { SearchParts } from './search/pipeline.js';
import { openSettlement, type Settlement } from './settlement/settlement.js';
import type { Store } from './store/store.js';
import { decodePaymentSignature, decodePaymentV1, type PresentedPayment } from './x402/payment.js';
import type { PaymentTerms, Resource } from './x402/terms.js';
import { createWire } from './x402-wire.js';

/** The payment side of the service, from the quote to the receipt. */
export interface Payments extends Pick<
  SearchParts<PresentedPayment>,
  'readPayment' | 'searchForPayment'
> {
  readonly wire: PaymentWire;
  readonly settlement: Settlement;
  health(): PartHealth;
}

/** Seconds that must be left of an authorization after its search, to get it into a block. */
const SETTLE_MARGIN_SECONDS = 10;
const VALIDITY_SECONDS_MAX = 86_400;
const VERIFY_DEADLINE_MS = 3_000;

/** Opens the books and the settlement, and recovers what an earlier process left unfinished. */
export async function openPayments(
  config: Config,
  parts: {
    store: Store;
    chain: ChainAccess;
    publicUrl: string;
    clock: Clock;
    random: Random;
    log: Log;
  },
): Promise<Payments> {
  const { store, chain, clock, random, log } = parts;
  const terms: PaymentTerms = {
    chainId: chain.chainId,
    asset: chain.asset,
    domain: chain.domain,
    payTo: chain.payTo,
    amount: config.PRICE_USD,
    maxTimeoutSeconds: config.PAYMENT_TIMEOUT_SECONDS,
  };
  const resource: Resource = {
    url: new URL('/search', parts.publicUrl).href,
    description: 'Keyword web search: ranked pages with title, URL and a long passage',
    mimeType: 'application/json',
  };
  const offer = () => OFFER;
  const OFFER = { terms, resource };
  const ledger = createLedger({ store, clock, random, owner: random.uuid() });
  const verifier = createVerifier({
    chain: chain.client,
    clock,
    offer,
    limits: {
      settleMarginSeconds: SETTLE_MARGIN_SECONDS,
      validityMaxSeconds: VALIDITY_SECONDS_MAX,
      deadlineMs: VERIFY_DEADLINE_MS,
    },
    eip6492Factories: [],
  });
  const settlement = await openSettlement();
  return {
    wire: createWire(offer, config.X402_V1),
    settlement,
    readPayment: (version, value) =>
      version === 2 ? decodePaymentSignature(value) : decodePaymentV1(value),
    searchForPayment: createPaidSearch({
      verifier,
      ledger,
      settlement,
      settlementWaitMs: config.SETTLEMENT_WAIT_MS,
    }),
    health: () => settlement.health(),
  };
}
