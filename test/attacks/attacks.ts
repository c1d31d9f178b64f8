import {
  forgeSessionFromCopy,
  hijackBeforeConfirmation,
  lockOwnerOut,
  lockStrangersOut,
} from './accounts.js';
import { burst } from './burst.js';
import { clientDocuments } from './client-documents.js';
import { connections } from './connections.js';
import { doublePayment } from './double-payment.js';
import { gasGriefing } from './gas-griefing.js';
import { http } from './http.js';
import { pages } from './pages.js';
import { registrations } from './registrations.js';
import type { AttackRow } from './row.js';
import { unpaidFigures, unpaidWork } from './unpaid-work.js';

/** One program of attacks. */
export interface Attack {
  /** As `--only` names it. */
  readonly name: string;
  /** Whether it takes seconds, not minutes: the tests run it. */
  readonly isQuick: boolean;
  /** Attacks a service of its own; rejects only where the attack itself could not be made. */
  run(): Promise<readonly AttackRow[]>;
}

/** On people's accounts, one after the other. */
async function accounts(): Promise<readonly AttackRow[]> {
  const rows: AttackRow[] = [];
  const attacks = [hijackBeforeConfirmation, lockStrangersOut, forgeSessionFromCopy, lockOwnerOut];
  for (const attack of attacks) rows.push(await attack());
  return rows;
}

/** What counts as harm is an honest payment that did not settle; some gas is burned by design. */
async function griefing(): Promise<readonly AttackRow[]> {
  const { row, honest } = await gasGriefing();
  const note = `${row.gotThrough} burned gas; honest payments ${honest.paid} of ${honest.sent}`;
  return [{ ...row, gotThrough: honest.sent - honest.paid, note }];
}

/** Every attack that `npm run attack` makes, in the order of its table. */
export const ATTACKS: readonly Attack[] = [
  { name: 'connections', isQuick: true, run: connections },
  { name: 'unpaid-work', isQuick: true, run: unpaidWork },
  { name: 'registrations', isQuick: true, run: registrations },
  { name: 'client-documents', isQuick: true, run: clientDocuments },
  { name: 'http', isQuick: true, run: http },
  { name: 'pages', isQuick: true, run: pages },
  { name: 'double-payment', isQuick: true, run: doublePayment },
  { name: 'accounts', isQuick: true, run: accounts },
  { name: 'gas-griefing', isQuick: false, run: griefing },
  { name: 'burst', isQuick: false, run: async () => [await burst()] },
  { name: 'unpaid-figures', isQuick: false, run: unpaidFigures },
];
