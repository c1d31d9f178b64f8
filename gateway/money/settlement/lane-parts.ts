import type { IntentPurpose } from '../ledger/intents.js';
import type { Payment } from '../ledger/payment.js';
import type { Call } from './calls.js';
import type { ChainFacts } from './facts.js';
import type { CodeCall } from '../ledger/code-payers.js';
import type { Flown } from './flight.js';
import type { BlockFollower } from './follower.js';
import type { Funds } from './funds.js';
import type { SettlementParts } from './parts.js';
import type { Signer } from './signer.js';

/** Why a relayer takes no new work at present. */
export type HaltReason =
  | 'not-started'
  /** Another gateway holds the key. */
  | 'leased-elsewhere'
  | 'out-of-gas-money'
  | 'stopped';

export interface LaneParts extends SettlementParts {
  readonly signer: Signer;
  readonly facts: ChainFacts;
  readonly funds: Funds;
  readonly follower: BlockFollower;
  /** The lane may take work again. */
  onFree(): void;
  /** Payments whose money is moved in a block that is still being made. */
  onPreconfirmed(moved: readonly Payment[]): void;
  /** A confirmed transaction, with the payments that it carried. */
  onEnded(flown: Flown): void;
  /** What a mined transaction shows of payers with code. */
  codeCallsOf(flown: Flown): Promise<readonly CodeCall[]>;
  /** Payments that no transaction takes along; the caller finds out what became of them. */
  onUnsigned(payments: readonly Payment[]): void;
}

/** What one transaction is to do. */
export interface Load {
  readonly purpose: IntentPurpose;
  readonly call: Call;
  /** Whose money it moves, in order of their calls. */
  readonly payments: readonly Payment[];
}
