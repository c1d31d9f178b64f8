import type { UnixMillis } from '../../ground/domain/units.js';

/** Where a payment stands; derived from its recorded facts, never stored. */
export type PaymentStatus =
  | 'reserved'
  | 'released'
  | 'served'
  | 'signed'
  | 'broadcast'
  | 'preconfirmed'
  | 'settled'
  | 'final'
  | 'reorged'
  | 'failed';

/** When each thing happened, as far as it did. */
export interface PaymentFacts {
  readonly reservedAt: UnixMillis;
  readonly servedAt?: UnixMillis;
  readonly signedAt?: UnixMillis;
  readonly broadcastAt?: UnixMillis;
  /** Its transfer was seen in a block that is still being made. */
  readonly preconfirmedAt?: UnixMillis;
  readonly settledAt?: UnixMillis;
  readonly finalAt?: UnixMillis;
  /** Kept for the record when the payment is broadcast and settles again. */
  readonly reorgedAt?: UnixMillis;
  readonly releasedAt?: UnixMillis;
  readonly failedAt?: UnixMillis;
}

/**
 * The status that the facts amount to. The first row that matches wins; `·` matches anything.
 *
 *     released  failed  final  settled  preconfirmed  broadcast  reorged  signed  served │ status
 *     yes       ·       ·      ·        ·             ·          ·        ·       ·      │ released
 *     ·         yes     ·      ·        ·             ·          ·        ·       ·      │ failed
 *     ·         ·       yes    ·        ·             ·          ·        ·       ·      │ final
 *     ·         ·       ·      yes      ·             ·          ·        ·       ·      │ settled
 *     ·         ·       ·      ·        yes           ·          ·        ·       ·      │ preconfirmed
 *     ·         ·       ·      ·        ·             yes        ·        ·       ·      │ broadcast
 *     ·         ·       ·      ·        ·             ·          yes      ·       ·      │ reorged
 *     ·         ·       ·      ·        ·             ·          ·        yes     ·      │ signed
 *     ·         ·       ·      ·        ·             ·          ·        ·       yes    │ served
 *     ·         ·       ·      ·        ·             ·          ·        ·       ·      │ reserved
 *
 * A reorg takes `settledAt`, `preconfirmedAt` and `broadcastAt` back: the transaction has to go out
 * again.
 */
export function statusOf(facts: PaymentFacts): PaymentStatus {
  if (facts.releasedAt !== undefined) return 'released';
  if (facts.failedAt !== undefined) return 'failed';
  if (facts.finalAt !== undefined) return 'final';
  if (facts.settledAt !== undefined) return 'settled';
  if (facts.preconfirmedAt !== undefined) return 'preconfirmed';
  if (facts.broadcastAt !== undefined) return 'broadcast';
  if (facts.reorgedAt !== undefined) return 'reorged';
  if (facts.signedAt !== undefined) return 'signed';
  if (facts.servedAt !== undefined) return 'served';
  return 'reserved';
}

/** Why a transition is not possible: the name of what stands against it. */
export type TransitionRefusal =
  | 'unknown_payment'
  | 'already_released'
  | 'already_served'
  | 'not_served'
  | 'already_signed'
  | 'not_signed'
  | 'already_preconfirmed'
  | 'not_preconfirmed'
  | 'already_settled'
  | 'not_settled'
  | 'already_final'
  | 'already_failed'
  | 'not_failed';

/** A transition's answer: undefined when it may happen. */
type May = (facts: PaymentFacts) => TransitionRefusal | undefined;

/**
 * Ends from which nothing leads back, save what reorganizations do: settled → reorged, and
 * failed → settled.
 */
function ended(status: PaymentStatus): TransitionRefusal | undefined {
  switch (status) {
    case 'released':
      return 'already_released';
    case 'failed':
      return 'already_failed';
    case 'final':
      return 'already_final';
    case 'settled':
      return 'already_settled';
    default:
      return undefined;
  }
}

/** The search is answered: its reply is stored. */
export const mayServe: May = (facts) => {
  const status = statusOf(facts);
  return ended(status) ?? (status === 'reserved' ? undefined : 'already_served');
};

/** Before a signature exists the authorization can be handed back; after it, somebody has it. */
export const mayRelease: May = (facts) => {
  const status = statusOf(facts);
  if (status === 'reserved' || status === 'served') return undefined;
  return ended(status) ?? 'already_signed';
};

/**
 * A transaction that carries it is signed: only what was served is ever charged. A transfer that
 * a stranger made and a reorg took back has no transaction of ours, so it is signed then, too.
 */
export const maySign: May = (facts) => {
  const status = statusOf(facts);
  if (status === 'served' || (status === 'reorged' && facts.signedAt === undefined)) {
    return undefined;
  }
  return ended(status) ?? (status === 'reserved' ? 'not_served' : 'already_signed');
};

/** Its transaction is handed to the chain: for the first time, again, or after a reorg. */
export const mayBroadcast: May = (facts) => {
  const status = statusOf(facts);
  if (status === 'signed' || status === 'broadcast' || status === 'reorged') return undefined;
  // A restart hands over again what it does not know the fate of.
  if (status === 'preconfirmed') return undefined;
  return ended(status) ?? 'not_signed';
};

/** The transfer is in a block that is still being made: the payer is answered, and it may vanish. */
export const mayPreconfirm: May = (facts) => mayBroadcast(facts);

/**
 * It is given to a facilitator, who has it from then on as if it were signed: for the first time,
 * or again when the chain shows that it was not used.
 */
export const mayHandOver: May = (facts) =>
  maySign(facts) === undefined ? undefined : mayRetry(facts);

/** Its call failed in a mined transaction although the authorization is good: once more. */
export const mayRetry: May = (facts) =>
  statusOf(facts) === 'preconfirmed' ? 'already_preconfirmed' : mayBroadcast(facts);

/**
 * The transfer is in the chain. From `served` on, because a third party that holds the
 * authorization may have made it before us.
 */
export const maySettle: May = (facts) => {
  const status = statusOf(facts);
  return ended(status) ?? (status === 'reserved' ? 'not_served' : undefined);
};

/** Nothing was and nothing will be transferred under this authorization. */
export const mayFail: May = (facts) =>
  statusOf(facts) === 'preconfirmed' ? 'already_preconfirmed' : maySettle(facts);

/**
 * Its transfer stands in the chain although its call had failed: a reorganization put our
 * transaction where it succeeds. The money is the payee's, so the payment counts.
 */
export const mayReverseFailure: May = (facts) => {
  const status = statusOf(facts);
  if (status === 'failed') return undefined;
  return ended(status) ?? 'not_failed';
};

/** The block of the transfer was made without it. */
export const mayVanish: May = (facts) => {
  const status = statusOf(facts);
  if (status === 'preconfirmed') return undefined;
  return ended(status) ?? 'not_preconfirmed';
};

/** The block of the transfer is no longer canonical. */
export const mayReorg: May = (facts) => {
  const status = statusOf(facts);
  if (status === 'settled') return undefined;
  return ended(status) ?? 'not_settled';
};

/** The block of the transfer is at or below the safe head. */
export const mayFinalize: May = (facts) => mayReorg(facts);
