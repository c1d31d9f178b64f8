import type { ChainAccess } from './chain-access.js';
import type { Config } from './config.js';
import type { Clock, Log, Random } from '../ground/domain/ports.js';
import type { Refusal } from '../ground/domain/refusal.js';
import type { Ledger } from '../money/ledger/ledger.js';
import { CODE_PAYER_LIMITS, type CodePayerLimits } from '../money/ledger/code-payers.js';
import { TransferBooks } from '../money/ledger/transfers.js';
import type { CodePayer } from '../money/ledger/code-payer.js';
import type { Confirmed } from '../money/payment/verifier.js';
import { FacilitatedSettlement } from '../money/settlement/facilitated.js';
import { createFacilitator } from '../money/settlement/facilitator.js';
import { createRpcChain } from '../money/settlement/rpc-chain.js';
import { SETTLEMENT_DEFAULTS } from '../money/settlement/settings.js';
import { Settlement } from '../money/settlement/settlement.js';
import type { Store } from '../ground/store/store.js';
import type { PaymentTerms } from '../money/x402/terms.js';

/** Who moves the money of served payments: relayers of our own, or a facilitator. */
export interface Mover {
  readonly settlement: Pick<
    Settlement,
    'start' | 'observe' | 'admits' | 'sheds' | 'settle' | 'outcome' | 'health' | 'drain'
  >;
  /** Sends what is no payment; absent where a facilitator moves the money. */
  readonly sender?: Pick<Settlement, 'freeRelayer' | 'send'>;
  /**
   * Whether it would move the money of this new payment, which the chain has found good; and what
   * it found out about a payer that has code.
   */
  admit(confirmed: Confirmed): Promise<Refusal | CodePayer | undefined>;
}

/** What payers with code may cost, by the settings. */
export function codePayerLimits(config: Config): CodePayerLimits {
  return { ...CODE_PAYER_LIMITS, gasPerHour: BigInt(config.CODE_PAYER_GAS_PER_HOUR) };
}

/** The mover that the settings name, with the books it keeps; it is not started yet. */
export function openMover(
  config: Config,
  parts: {
    readonly chain: ChainAccess;
    readonly store: Store;
    readonly ledger: Ledger;
    readonly terms: PaymentTerms;
    readonly clock: Clock;
    readonly random: Random;
    readonly log: Log;
  },
): Mover {
  const { chain, store, ledger, terms, clock, random, log } = parts;
  const given = {
    chain: createRpcChain(chain.chainId, chain.client),
    ledger,
    books: new TransferBooks(store, clock),
    clock,
    random,
    log,
    settings: {
      ...SETTLEMENT_DEFAULTS,
      blockTimeMs: chain.blockTimeMs,
      confirmations: config.CONFIRMATIONS,
      preconfirmations: config.PRECONFIRMATIONS,
      answerWaitMs: config.SETTLEMENT_WAIT_MS,
      replyMs: config.REPLY_RETENTION_SECONDS * 1000,
      codePayers: codePayerLimits(config),
    },
  };
  if (!chain.facilitator) {
    const settlement = new Settlement(given, chain.relayers);
    chain.heads?.listen(() => settlement.hint());
    return {
      settlement,
      sender: settlement,
      admit: ({ authorization, payerCode }) => settlement.admitPayer(authorization, payerCode),
    };
  }
  const { facilitatorUrl: url, ...access } = chain.facilitator;
  const facilitator = createFacilitator({ url, ...access, terms });
  const settlement = new FacilitatedSettlement(given, facilitator);
  return { settlement, admit: ({ authorization }) => settlement.objection(authorization) };
}
