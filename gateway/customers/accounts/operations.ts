import type { Kysely } from 'kysely';
import { PLANS, type Plan } from '../../ground/domain/plan.js';
import type { Clock, Log, Random } from '../../ground/domain/ports.js';
import type { UnixMillis } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import type { Credits } from '../credits/credits.js';
import type { Accounts } from './manage.js';
import type { AccountTables } from '../credits/schema.js';

/** What the operator changes about an account. */
export type Operation =
  | {
      readonly kind: 'plan';
      readonly plan: Plan;
      readonly ratePerSecond: number | undefined;
      readonly endsAt: UnixMillis | undefined;
    }
  /** Once for each reference. */
  | { readonly kind: 'credits'; readonly credits: number; readonly reference: string }
  | { readonly kind: 'suspend'; readonly reason: string }
  | { readonly kind: 'resume' };

/** Who operates: an operator's name may change, so the address at that time is kept. */
export interface OperatingPerson {
  readonly id: string;
  readonly email: string;
}

interface OperationRecord {
  readonly at: Date;
  readonly by: string;
  readonly accountId: string;
  readonly what: string;
}

/** Operators’ changes, each written down before it is made. */
export interface Operations {
  /** A reference for credits that are yet to be added, so that a form sent twice adds them once. */
  newReference(): string;
  perform(
    by: OperatingPerson,
    accountId: string,
    operation: Operation,
  ): Promise<'done' | 'not-found'>;
  /** The newest records, newest first; of one account, or of all. */
  records(count: number, accountId?: string): Promise<readonly OperationRecord[]>;
}

/** An operation as a sentence without its subject, for the confirmation and the record. */
export function describe(operation: Operation): string {
  switch (operation.kind) {
    case 'plan': {
      const { plan, ratePerSecond, endsAt } = operation;
      const rate = `${ratePerSecond ?? PLANS[plan].ratePerSecond} searches a second`;
      const until =
        endsAt === undefined ? '' : `, until ${new Date(endsAt).toISOString().slice(0, 10)}`;
      return `plan ${PLANS[plan].name}, ${rate}${until}`;
    }
    case 'credits':
      return `${operation.credits} credits added`;
    case 'suspend':
      return `suspended: ${operation.reason}`;
    case 'resume':
      return 'resumed';
  }
}

export function openOperations(parts: {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly accounts: Accounts;
  readonly credits: Pick<Credits, 'grant'>;
}): Operations {
  const { store, clock, random, log, accounts, credits } = parts;

  const apply = async (accountId: string, operation: Operation): Promise<unknown> => {
    switch (operation.kind) {
      case 'plan':
        return accounts.setPlan(accountId, operation.plan, operation);
      case 'credits':
        return credits.grant(accountId, operation.credits, 'operator', operation.reference);
      case 'suspend':
        return accounts.suspend(accountId, operation.reason);
      case 'resume':
        return accounts.resume(accountId);
    }
  };

  return {
    newReference: () => `operator:${random.uuid()}`,
    async perform(by, accountId, operation) {
      if (!(await accounts.read(accountId))) return 'not-found';
      await store.write((tx: Kysely<AccountTables>) =>
        tx
          .insertInto('operations')
          .values({
            id: random.uuid(),
            at: clock.now(),
            person_id: by.id,
            person: by.email,
            account_id: accountId,
            what: describe(operation),
          })
          .execute(),
      );
      log.info({ accountId, personId: by.id, operation: operation.kind }, 'an operator’s change');
      await apply(accountId, operation);
      return 'done';
    },
    async records(count, accountId) {
      const rows = await store.read((db: Kysely<AccountTables>) => {
        const query = db.selectFrom('operations').selectAll();
        return (accountId === undefined ? query : query.where('account_id', '=', accountId))
          .orderBy('at', 'desc')
          .orderBy('id')
          .limit(count)
          .execute();
      });
      return rows.map(({ at, person, account_id, what }) => ({
        at: new Date(Number(at)),
        by: person,
        accountId: account_id,
        what,
      }));
    },
  };
}
