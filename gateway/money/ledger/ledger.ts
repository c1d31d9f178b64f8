import type { Clock, Random } from '../../ground/domain/ports.js';
import type { Address } from '../../ground/domain/units.js';
import type { AuthorizationKey, SignedAuthorization } from '../payment/authorization.js';
import type { Store } from '../../ground/store/store.js';
import { type Checkpoint, passCheckpoint } from './checkpoint.js';
import type { CodeObjection } from '../payment/code-refusals.js';
import type { CodePayer } from './code-payer.js';
import { CODE_PAYER_LIMITS, findCodeObjection, type CodePayerLimits } from './code-payers.js';
import { writeDeposit } from './deposit.js';
import type { Payment, RequestBinding, StoredReply } from './payment.js';
import { mayRelease, mayServe } from './status.js';
import { paymentOf } from './tables.js';
import { type LedgerTx, selectPayment, transition, type Transition } from './transition.js';

/** The answer to a reservation: of all who ask at once, over all gateways, exactly one reserves. */
type Reservation =
  | { readonly kind: 'reserved'; readonly payment: Payment }
  /** Somebody holds this authorization already: wait for that payment's outcome. */
  | { readonly kind: 'exists'; readonly payment: Payment }
  /**
   * The payer used this payment identifier for another authorization: that payment's reply is the
   * answer when its binding is the same, a conflict otherwise. Nothing was reserved.
   */
  | { readonly kind: 'identified'; readonly payment: Payment };

/** The payer has code, and no payment of it is taken now. Nothing was reserved. */
interface Deferral {
  readonly kind: 'deferred';
  readonly objection: CodeObjection;
}

/** The books, as far as one paid search needs them. Every method that writes is durable. */
export interface Ledger {
  /** The process that writes here; bare reservations of any other that is dead are void. */
  readonly owner: string;
  /** The payment of this authorization that was not released, if there is one. */
  find(key: AuthorizationKey): Promise<Payment | undefined>;
  /** The payment that this payer gave this identifier of its own: not a released or failed one. */
  findIdentified(payer: Address, paymentIdentifier: string): Promise<Payment | undefined>;
  get(paymentId: string): Promise<Payment | undefined>;
  /**
   * Takes the authorization for one search. Concurrent reservations of one authorization see
   * exactly one `reserved` between them, and so do those of one payer's `paymentIdentifier` (x402
   * extension payment-identifier).
   */
  reserve(
    authorization: SignedAuthorization,
    binding: RequestBinding,
    requestId: string,
    paymentIdentifier?: string,
  ): Promise<Reservation>;
  /**
   * The same for a payer that has code: it has one open payment at a time, over all gateways, and
   * shares a budget of gas with all others of its kind.
   */
  reserveForCode(
    codePayer: CodePayer,
    authorization: SignedAuthorization,
    binding: RequestBinding,
    requestId: string,
    paymentIdentifier?: string,
  ): Promise<Reservation | Deferral>;
  /** Gives a reservation back before anything was signed; the authorization may be used again. */
  release(paymentId: string, reason: string): Promise<Transition>;
  /** Stores the reply; from here on the payment will be settled, whoever is left to do it. */
  serve(paymentId: string, reply: StoredReply): Promise<Transition>;
}

export interface LedgerParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Pick<Random, 'uuid'>;
  /** Names this process, differently at each start: its bare reservations die with it. */
  readonly owner: string;
  readonly checkpoint?: Checkpoint;
  readonly codePayerLimits?: CodePayerLimits;
}

const liveRow = (db: LedgerTx, key: AuthorizationKey) =>
  db
    .selectFrom('payments')
    .selectAll()
    .where('chain_id', '=', BigInt(key.chainId))
    .where('asset', '=', key.asset)
    .where('payer', '=', key.from)
    .where('nonce', '=', key.nonce)
    .where('released_at', 'is', null)
    .executeTakeFirst();

const namedRow = (db: LedgerTx, payer: Address, identifier: string) =>
  db
    .selectFrom('payments')
    .selectAll()
    .where('payer', '=', payer)
    .where('payment_identifier', '=', identifier)
    .where('released_at', 'is', null)
    .where('failed_at', 'is', null)
    .executeTakeFirst();

export function createLedger(parts: LedgerParts): Ledger {
  const { store, clock, random, owner, checkpoint = passCheckpoint } = parts;
  const limits = parts.codePayerLimits ?? CODE_PAYER_LIMITS;
  /** Inserts a row, or finds what stands in its way: the unique indexes decide. */
  const insert = async (
    tx: LedgerTx,
    row: ReturnType<typeof newRow>,
    authorization: SignedAuthorization,
  ): Promise<Reservation | undefined> => {
    const inserted = await tx
      .insertInto('payments')
      .values({ ...row, reserved_at: BigInt(clock.now()) })
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst();
    if (inserted) return { kind: 'reserved', payment: paymentOf(inserted) };
    const existing = await liveRow(tx, authorization);
    if (existing) return { kind: 'exists', payment: paymentOf(existing) };
    const named = await namedRow(tx, authorization.from, row.payment_identifier ?? '');
    return named && { kind: 'identified', payment: paymentOf(named) };
  };
  const reserved = async <T extends { readonly kind: string }>(reservation: T): Promise<T> => {
    if (reservation.kind === 'reserved') await checkpoint('after-reserve');
    return reservation;
  };

  return {
    owner,
    find: async (key) => {
      const row = await store.read((db: LedgerTx) => liveRow(db, key));
      return row && paymentOf(row);
    },
    findIdentified: async (payer, paymentIdentifier) => {
      const row = await store.read((db: LedgerTx) => namedRow(db, payer, paymentIdentifier));
      return row && paymentOf(row);
    },
    get: (paymentId) => store.read((db: LedgerTx) => selectPayment(db, paymentId)),
    reserve: async (authorization, binding, requestId, identifier) => {
      const id = random.uuid();
      const row = newRow({ id, authorization, binding, requestId, owner, identifier });
      const reservation = await store.write((tx: LedgerTx) => insert(tx, row, authorization));
      if (!reservation) throw new Error('an authorization is neither free nor taken');
      return reserved(reservation);
    },
    reserveForCode: async (codePayer, authorization, binding, requestId, identifier) => {
      const id = random.uuid();
      const row = {
        ...newRow({ id, authorization, binding, requestId, owner, identifier }),
        payer_code: codePayer.code,
        gas_limit: codePayer.gasLimit,
      };
      const { from } = authorization;
      const reservation = await store.write(async (tx: LedgerTx) => {
        const known = await liveRow(tx, authorization);
        if (known) return { kind: 'exists', payment: paymentOf(known) } as const;
        const objection = await findCodeObjection(tx, from, codePayer, clock.now(), limits);
        if (objection) return { kind: 'deferred', objection } as const;
        const open = { kind: 'deferred', objection: { kind: 'open-payment' } } as const;
        // Another gateway may be faster between the look and the insertion.
        return (await insert(tx, row, authorization)) ?? open;
      });
      return reserved(reservation);
    },
    release: (paymentId, reason) =>
      store.write((tx: LedgerTx) =>
        transition(tx, paymentId, mayRelease, { released_at: BigInt(clock.now()), reason }),
      ),
    serve: async (paymentId, reply) => {
      const served = await store.write((tx: LedgerTx) =>
        transition(tx, paymentId, mayServe, {
          served_at: BigInt(clock.now()),
          reply_body: reply.body,
          reply_content_type: reply.contentType,
          reply_request_id: reply.requestId,
          reply_generation: reply.generation === undefined ? null : BigInt(reply.generation),
        }),
      );
      await checkpoint('after-serve');
      return served;
    },
  };
}

function newRow(reservation: {
  id: string;
  authorization: SignedAuthorization;
  binding: RequestBinding;
  requestId: string;
  owner: string;
  identifier: string | undefined;
}) {
  const { id, authorization, binding, requestId, owner, identifier } = reservation;
  return {
    id,
    chain_id: BigInt(authorization.chainId),
    asset: authorization.asset,
    payer: authorization.from,
    nonce: authorization.nonce,
    pay_to: authorization.to,
    value: authorization.value.toString(),
    valid_after_seconds: BigInt(authorization.validAfter),
    valid_before_seconds: BigInt(authorization.validBefore),
    signature: authorization.signature,
    binding,
    request_id: requestId,
    owner,
    payment_identifier: identifier ?? null,
    deposit: authorization.deposit ? writeDeposit(authorization.deposit) : null,
  };
}
