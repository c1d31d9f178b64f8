import type { Address } from '../../ground/domain/units.js';
import type { Payment } from '../ledger/payment.js';
import { maySign } from '../ledger/status.js';
import { reasons } from '../x402/reasons.js';
import type { CodePayers } from './code-payers.js';
import type { SettlementParts } from './parts.js';
import { investigate, type Finding } from './resolver.js';

interface Surroundings {
  /** In whose name the chain is asked whether a transfer can be made. */
  readonly relayer: Address | undefined;
  readonly codePayers: Pick<CodePayers, 'hasFailed'>;
  /** Whether a transaction of this process carries it. */
  isCarried(paymentId: string): boolean;
  /** It waits for a transaction again. */
  enqueue(payment: Payment): void;
  /** It waits for none any more. */
  remove(paymentId: string): void;
}

/** Looks into payments that none of our receipts explains, and writes down what is certain. */
export class Investigations {
  /** Payments that are being looked into: two looks at once would contradict. */
  readonly #underway = new Set<string>();

  constructor(
    private readonly parts: SettlementParts,
    private readonly surroundings: Surroundings,
  ) {}

  async look(payment: Payment): Promise<void> {
    if (this.#underway.has(payment.id)) return;
    this.#underway.add(payment.id);
    try {
      const relayer = this.surroundings.relayer ?? payment.authorization.to;
      const finding = await investigate(payment, relayer, this.parts);
      const fields = { payment: payment.id, status: payment.status, ...summary(finding) };
      this.parts.log.info(fields, 'investigated');
      await this.#conclude(payment, finding);
    } finally {
      this.#underway.delete(payment.id);
    }
  }

  async #conclude(payment: Payment, finding: Finding): Promise<void> {
    const { outcomes } = this.parts.books;
    switch (finding.kind) {
      case 'moved':
        this.surroundings.remove(payment.id);
        await outcomes.recordAdopted(payment.id, finding.transaction, finding.block);
        return;
      case 'impossible':
        if (!finding.isForGood && (await this.#mayStillGoOut(payment.id))) return;
        this.surroundings.remove(payment.id);
        await outcomes.recordFailed(payment, finding.reason);
        return;
      case 'possible':
        await this.#tryAgain(payment);
        return;
      case 'unclear':
        return;
    }
  }

  async #tryAgain(payment: Payment): Promise<void> {
    const { books, ledger, settings } = this.parts;
    const { surroundings } = this;
    if (await surroundings.codePayers.hasFailed(payment)) {
      await books.outcomes.recordFailed(payment, reasons.transaction);
      return;
    }
    if (surroundings.isCarried(payment.id)) return;
    if (payment.failedCalls + 1 >= settings.callAttemptsMax) return;
    if (!isToBeSigned(payment)) await books.outcomes.recordRetry(payment);
    const retried = await ledger.get(payment.id);
    if (retried && isToBeSigned(retried)) surroundings.enqueue(retried);
  }

  /** Whether a transaction carries it, here or in the books of a relayer that nobody works with now. */
  async #mayStillGoOut(paymentId: string): Promise<boolean> {
    return (
      this.surroundings.isCarried(paymentId) ||
      (await this.parts.books.intents.isCarried(paymentId))
    );
  }
}

/** Whether it waits for a transaction: for the first one, or for another after one came to nothing. */
export const isToBeSigned = ({ facts }: Payment): boolean => maySign(facts) === undefined;

const summary = (finding: { kind: string; reason?: string }) => ({
  finding: finding.kind,
  ...(finding.reason !== undefined && { reason: finding.reason }),
});
