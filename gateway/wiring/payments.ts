import { measureBooks } from './book-figures.js';
import type { ChainAccess } from './chain-access.js';
import type { Config } from './config.js';
import type { Clock, Log, Random } from '../ground/domain/ports.js';
import type { TopUpOrder, TopUpPayments } from '../customers/credits/top-up.js';
import { SEARCH_DISCOVERY } from './discovery.js';
import type { Packs } from '../customers/packs/packs.js';
import type { PackSize } from '../customers/packs/sizes.js';
import type { PackSales } from '../edge/http/pack-routes.js';
import { isRefusal } from '../ground/domain/refusal.js';
import { createLedger } from '../money/ledger/ledger.js';
import { lookUpPayment } from '../money/ledger/lookup.js';
import type { PartHealth } from '../ground/observe/health.js';
import type { Metrics } from '../ground/observe/metrics.js';
import type { PaymentWire } from '../edge/http/search-route.js';
import { readAuthorizationState } from '../money/payment/authorization-state.js';
import type { ChainFacts } from '../money/payment/on-chain.js';
import { createCodeLookup, createPayerGate } from '../money/payment/code-lookup.js';
import { createStatusProofCheck } from '../money/payment/status-proof.js';
import { EVERYBODY_MAY_PAY, openDenyList } from '../money/payment/deny-list.js';
import { createVerifier, type Sale } from '../money/payment/verifier.js';
import type { SearchRequest } from '../../search-core/contract.js';
import { openChannels, type Channels } from './channels.js';
import { createPaidSearch } from '../search/paid.js';
import type { PaymentSettlement, Verifier } from '../search/paid-ports.js';
import { createProofs, type Proofs } from '../search/proofs.js';
import { createPaymentInquiry, type PaymentInquiry } from '../search/payment-status.js';
import type { SearchParts } from '../search/pipeline.js';
import { Turns } from '../search/turns.js';
import type { BlockFacts } from '../money/settlement/chain.js';
import { codePayerLimits, openMover } from './mover.js';
import { measureSettlement, settlementFigures, settlementReadiness } from './settlement-view.js';
import { warnIfUnderpriced } from './price-warning.js';
import { openSearchPrice } from './search-price.js';
import type { Sealing } from '../ground/store/sealing.js';
import type { Store } from '../ground/store/store.js';
import { receiptKey } from '../money/x402/receipt-key.js';
import {
  decodePaymentSignature,
  decodePaymentV1,
  type PresentedPayment,
} from '../money/x402/payment.js';
import type { PaymentTerms, Resource } from '../money/x402/terms.js';
import { createPackPayments, deliverPack } from './pack-payments.js';
import type { SalePresented } from './sale.js';
import { createTopUpPayments } from './top-up-payments.js';
import { createWire, type CurrentOffer } from './x402-wire.js';

/** The payment side of the service, from the quote to the receipt. */
export interface Payments extends Pick<
  SearchParts<PresentedPayment>,
  'readPayment' | 'searchForPayment'
> {
  readonly wire: PaymentWire;
  /** Signs quotes and receipts; absent where the settings turn that off. */
  readonly proofs?: Proofs;
  /** What is asked for a search now. */
  readonly offer: CurrentOffer;
  /** Gives back what is left in a channel; absent where channels are off. */
  readonly refund?: Channels['refund'];
  readonly topUps: TopUpPayments;
  readonly payForPack: PackSales['pay'];
  /** What a payer may ask about a payment. */
  readonly inquiry: PaymentInquiry;
  /** A line for each relayer, or for the facilitator, for the operator. */
  figures(): readonly { readonly name: string; readonly value: string }[];
  /** Hours until gas money runs short; undefined where a facilitator pays for the gas. */
  runwayHours(): number | undefined;
  health(): PartHealth;
  /** Finishes the settlements under way, at most for so long; the rest is left in the books. */
  stop(deadlineMs: number): Promise<void>;
}

/** Seconds that must be left of an authorization after its search, to get it into a block. */
const SETTLE_MARGIN_SECONDS = 10;
/** What an authorization may be valid beyond the time asked: clocks differ, and some sign for a day. */
const VALIDITY_SLACK_SECONDS = 86_400;
const VERIFY_DEADLINE_MS = 3_000;

/** Opens the books and the settlement, and recovers what an earlier process left unfinished. */
export async function openPayments(
  config: Config,
  parts: {
    store: Store;
    packs: Packs;
    chain: ChainAccess;
    publicUrl: string;
    clock: Clock;
    random: Random;
    sealing: Sealing;
    log: Log;
    metrics: Pick<Metrics, 'gauge' | 'gauges' | 'timed'>;
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
    discovery: SEARCH_DISCOVERY,
  };
  const proofs = config.SIGNED_RECEIPTS
    ? openProofs(config, { ...parts, terms, resource })
    : undefined;
  const price = await openSearchPrice(config, { chain, clock, random, log, terms, resource });
  const ledger = createLedger({
    ...{ store, clock, random, owner: random.uuid() },
    codePayerLimits: codePayerLimits(config),
  });
  const mover = openMover(config, { ...parts, ledger, terms });
  const { settlement } = mover;
  await settlement.start();
  measureSettlement(settlement, parts.metrics);
  measureBooks(parts.metrics, { store, clock, ethUsd: config.ETH_USD });
  if (chain.dev === undefined && !chain.facilitator) await warnIfUnderpriced(config, parts);
  const verifier = createVerifier({
    chain: chain.client,
    clock,
    offer: price.offer,
    honours: price.honours,
    limits: {
      settleMarginSeconds: SETTLE_MARGIN_SECONDS,
      validityMaxSeconds: config.PAYMENT_TIMEOUT_SECONDS + VALIDITY_SLACK_SECONDS,
      deadlineMs: VERIFY_DEADLINE_MS,
    },
    contractWallets: config.CONTRACT_WALLETS,
    relayers: chain.relayers.map(({ address }) => address),
    eip6492Factories: config.EIP6492_FACTORIES,
  });
  const denied =
    config.PAYER_DENY_FILE === undefined
      ? EVERYBODY_MAY_PAY
      : await openDenyList(config.PAYER_DENY_FILE, { clock, log });
  const code = createCodeLookup(chain.client, clock, VERIFY_DEADLINE_MS);
  const objectionToPayer = createPayerGate(code);
  const turns = new Turns(clock);
  const confirm: Verifier<PresentedPayment>['confirm'] = async (authorization, allowance) => {
    const objection =
      (await denied.objection(authorization.from)) ??
      (await objectionToPayer(authorization, allowance));
    if (objection) return objection;
    const confirmed = await verifier.confirm(authorization);
    if (isRefusal(confirmed)) return confirmed;
    settlement.observe(blockOf(confirmed.facts));
    // The chain has just told what the relayers have.
    const refusal = settlement.admits(confirmed.authorization, turns.active);
    if (refusal) return refusal;
    const codePayer = await mover.admit(confirmed);
    if (isRefusal(codePayer)) return codePayer;
    return { ...(codePayer && { codePayer }) };
  };
  const settled: PaymentSettlement = {
    admits: (authorization, promised) => settlement.admits(authorization, promised),
    sheds: (promised, seconds) => settlement.sheds(promised, seconds),
    settle: parts.metrics.timed('settlement', (id, wait) => settlement.settle(id, wait)),
    outcome: (id, wait) => settlement.outcome(id, wait),
  };
  const paid = { ledger, settlement: settled, turns, settlementWaitMs: config.SETTLEMENT_WAIT_MS };
  /** The whole path of a payment, for whatever is sold; all sales share the one verifier. */
  const paidFor = <Presented, Asked>(
    read: (presented: Presented) => { payment: PresentedPayment; sale: Sale },
    chargesEmpty = true,
  ) =>
    createPaidSearch<Presented, Asked>({
      chargesEmpty,
      identifierOf: (presented) => read(presented).payment.identifier,
      verifier: {
        check: (presented) => {
          const { payment, sale } = read(presented);
          return verifier.check(payment, sale);
        },
        confirm,
      },
      ...paid,
    });
  const soldFor = ({ payment, offered }: SalePresented) => ({
    payment,
    sale: { offer: () => offered },
  });
  const { sender } = mover;
  const channels =
    sender && (await openChannels(config, { ...parts, paid, confirm, denied, terms, sender }));
  const offer: CurrentOffer = () => ({ ...price.offer(), ...channels?.offer() });
  const searchForTransfer = paidFor<PresentedPayment, SearchRequest>(
    (payment) => ({ payment, sale: price }),
    config.CHARGE_EMPTY_SEARCHES,
  );
  const { publicUrl, packs } = parts;
  const sold = { terms, publicUrl };
  const buyTopUp = paidFor<SalePresented, TopUpOrder>(soldFor);
  const buyPack = paidFor<SalePresented, PackSize>(soldFor);
  return {
    wire: createWire(offer, config.X402_V1, proofs),
    offer,
    ...(proofs && { proofs }),
    ...(channels && { refund: channels.refund }),
    inquiry: openInquiry(config, parts),
    topUps: createTopUpPayments({ ...sold, store, buy: buyTopUp }),
    payForPack: createPackPayments({ ...sold, packs, random, buy: buyPack }),
    readPayment: (version, value) =>
      version === 2 ? decodePaymentSignature(value) : decodePaymentV1(value),
    searchForPayment: (payment, purchase, signal) =>
      channels?.takes(payment)
        ? channels.search(payment, purchase, signal)
        : searchForTransfer(payment, purchase, signal),
    figures: () => [...settlementFigures(settlement.health()), ...(channels?.figures() ?? [])],
    runwayHours: () => {
      const { facilitator, runwayHours } = settlement.health();
      return facilitator ? undefined : runwayHours;
    },
    health: () => settlementReadiness(settlement),
    stop: async (deadlineMs) => {
      await price.stop();
      await channels?.stop();
      const open = await settlement.drain({ deadlineMs });
      if (open > 0) log.warn({ open }, 'payments are left for the next start to finish');
    },
  };
}

/** The key is the same in every gateway that has the sealing key, and after every start. */
function openProofs(
  { SIGNED_OFFERS }: Config,
  parts: {
    readonly sealing: Sealing;
    readonly publicUrl: string;
    readonly terms: PaymentTerms;
    readonly resource: Resource;
    readonly clock: Clock;
  },
): Proofs {
  const { sealing, publicUrl, terms, resource, clock } = parts;
  return createProofs({
    key: receiptKey(sealing.derive('receipts'), publicUrl),
    resourceUrl: resource.url,
    ...(SIGNED_OFFERS && { offerSeconds: terms.maxTimeoutSeconds }),
    clock,
  });
}

/** Answers payers about the payments in the books, of a search or of credits. */
function openInquiry(
  config: Config,
  { store, packs, chain, publicUrl, clock }: Parameters<typeof openPayments>[1],
): PaymentInquiry {
  const { client, chainId, asset } = chain;
  const { origin: audience } = new URL(publicUrl);
  const contractWallets = config.CONTRACT_WALLETS;
  return createPaymentInquiry({
    clock,
    checkProof: createStatusProofCheck({ client, chainId, audience, contractWallets }),
    keyOf: ({ payer, nonce }) => ({ chainId, asset, from: payer, nonce }),
    find: (key) => lookUpPayment(store, key),
    bought: (payment) => deliverPack(packs, payment, { kind: 'payer' }),
    authorizationState: (key) => readAuthorizationState(client, key),
  });
}

/** The block that a verification saw; the settlement need not ask for it again. */
function blockOf({ blockNumber, timestamp, baseFeePerGas, funds }: ChainFacts): BlockFacts {
  return { number: blockNumber, timestamp, baseFee: baseFeePerGas, ...(funds && { funds }) };
}
