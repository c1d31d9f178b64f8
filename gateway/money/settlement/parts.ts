import type { Clock, Log, Random } from '../../ground/domain/ports.js';
import type { Checkpoint } from '../ledger/checkpoint.js';
import type { Ledger } from '../ledger/ledger.js';
import type { TransferBooks } from '../ledger/transfers.js';
import type { SettlementChain } from './chain.js';
import type { SettlementSettings } from './settings.js';

/** What every part of the settlement works with. */
export interface SettlementParts {
  readonly chain: SettlementChain;
  readonly ledger: Pick<Ledger, 'get' | 'owner'>;
  readonly books: TransferBooks;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly settings: SettlementSettings;
  readonly checkpoint: Checkpoint;
}
