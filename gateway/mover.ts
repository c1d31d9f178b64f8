import type { ChainAccess } from './chain-access.js';
import type { Config } from './config.js';
import type { Clock, Log, Random } from './domain/ports.js';
import type { Refusal } from './domain/refusal.js';
import type { Ledger } from './ledger/ledger.js';
import { TransferBooks } from './ledger/transfers.js';
import type { SignedAuthorization } from './payment/authorization.js';
import { FacilitatedSettlement } from './settlement/facilitated.js';
import { createFacilitator } from './settlement/facilitator.js';
import { createRpcChain } from './settlement/rpc-chain.js';
import { SETTLEMENT_DEFAULTS } from './settlement/settings.js';
import { Settlement } from './settlement/settlement.js';
import type { Store } from './store/store.js';
import type { PaymentTerms } from './x402/terms.js';

/** Who moves the money of served payments: relayers of our own, or a facilitator. */
export interface Mover {
  readonly settlement: Pick<
    Settlement,
    'start' | 'observe' | 'admits' | 'settle' | 'outcome' | 'health' | 'drain'
  >;
  /** Why it would not move the money of this new payment, which the chain has found good. */
  objection(authorization: SignedAuthorization): Promise<Refusal | undefined>;
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
      replyMs: config.REPLY_RETENTION_SECONDS * 1000,
    },
  };
  if (!chain.facilitator) {
    const settlement = new Settlement(given, chain.relayers);
    chain.heads?.listen(() => settlement.hint());
    return { settlement, objection: () => Promise.resolve(undefined) };
  }
  const { facilitatorUrl: url, ...access } = chain.facilitator;
  const facilitator = createFacilitator({ url, ...access, terms });
  const settlement = new FacilitatedSettlement(given, facilitator);
  return { settlement, objection: (authorization) => settlement.objection(authorization) };
}
