import type { Address } from '../../ground/domain/units.js';
import type { IntentBooks } from '../ledger/intent-books.js';
import type { Call } from '../settlement/calls.js';
import type { Settlement } from '../settlement/settlement.js';

/** What is sent to the settlement contract beside deposits. */
type Errand = 'claim' | 'refund';

/**
 * Sends calls of the settlement contract on the relayers' lanes: recorded before they are sent, bumped,
 * followed and taken up again after a crash like any payment.
 */
export interface ContractSender {
  /** A relayer that would send one now; undefined while none is free, or one of the kind is under way. */
  relayer(errand: Errand): Promise<Address | undefined>;
  /** False when the relayer has no room any more. The contract's state tells what became of it. */
  send(errand: Errand, relayer: Address, call: Call): Promise<boolean>;
}

export function createContractSender(parts: {
  readonly settlement: Pick<Settlement, 'freeRelayer' | 'send'>;
  readonly intents: Pick<IntentBooks, 'isOpen'>;
  readonly chainId: number;
}): ContractSender {
  const { settlement, intents, chainId } = parts;
  return {
    relayer: async (errand) =>
      (await intents.isOpen(chainId, errand)) ? undefined : settlement.freeRelayer(),
    send: (errand, relayer, call) => settlement.send(relayer, errand, call),
  };
}
