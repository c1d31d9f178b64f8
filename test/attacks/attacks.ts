import type { AttackRow } from './row.js';

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
  const made = await import('./accounts.js');
  const rows: AttackRow[] = [];
  const attacks = [
    made.hijackBeforeConfirmation,
    made.lockStrangersOut,
    made.forgeSessionFromCopy,
    made.lockOwnerOut,
  ];
  for (const attack of attacks) rows.push(await attack());
  return rows;
}

/** What counts as harm is an honest payment that did not settle; some gas is burned by design. */
async function griefing(): Promise<readonly AttackRow[]> {
  const { gasGriefing } = await import('./gas-griefing.js');
  const { row, honest } = await gasGriefing();
  const note = `${row.gotThrough} burned gas; honest payments ${honest.paid} of ${honest.sent}`;
  return [{ ...row, gotThrough: honest.sent - honest.paid, note }];
}

const quick = (name: string, run: Attack['run']): Attack => ({ name, isQuick: true, run });
const long = (name: string, run: Attack['run']): Attack => ({ name, isQuick: false, run });

/**
 * Every attack that `npm run attack` makes, in the order of its table. Each is loaded when it runs:
 * who asks for help does not wait for the whole service.
 */
export const ATTACKS: readonly Attack[] = [
  quick('connections', async () => (await import('./connections.js')).connections()),
  quick('unpaid-work', async () => (await import('./unpaid-work.js')).unpaidWork()),
  quick('registrations', async () => (await import('./registrations.js')).registrations()),
  quick('client-documents', async () => (await import('./client-documents.js')).clientDocuments()),
  quick('http', async () => (await import('./http.js')).http()),
  quick('pages', async () => (await import('./pages.js')).pages()),
  quick('double-payment', async () => (await import('./double-payment.js')).doublePayment()),
  quick('accounts', accounts),
  long('gas-griefing', griefing),
  long('burst', async () => [await (await import('./burst.js')).burst()]),
  long('unpaid-figures', async () => (await import('./unpaid-work.js')).unpaidFigures()),
];
