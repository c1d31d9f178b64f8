import type { Kysely } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import { formatUsd, usdcUnits, type UsdcUnits } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import { grantCredits } from './credits.js';
import type { AccountTables } from './schema.js';

/** What is bought: the payment that is made for it is bound to all of it. */
export interface TopUpOrder {
  readonly accountId: string;
  readonly amount: UsdcUnits;
  readonly credits: number;
}

/** A request for a top-up, with the payment that came along, if one did. */
interface TopUpCall {
  readonly order: TopUpOrder;
  /** The value of `PAYMENT-SIGNATURE`. */
  readonly payment: string | undefined;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** What became of the payment. Header values are those of x402's HTTP transport, version 2. */
export type TopUpPayment =
  /** Settled. `requestId` is that of the first presentation, whoever presents it again. */
  | {
      readonly kind: 'paid';
      readonly requestId: string;
      readonly transaction: string;
      readonly receiptHeader: string;
    }
  | {
      readonly kind: 'refused';
      readonly refusal: Refusal;
      /** `PAYMENT-REQUIRED`, where a new payment may be made. */
      readonly challengeHeader?: string;
      readonly receiptHeader?: string;
    };

/**
 * The gateway's own x402 path, as top-ups use it: quote, verify, reserve, settle, under one
 * authorization once. `main` wires it; without it top-ups are not offered.
 */
export interface TopUpPayments {
  pay(call: TopUpCall): Promise<TopUpPayment>;
  /** Of these requests, those whose payment has settled. */
  settled(requestIds: readonly string[]): Promise<readonly string[]>;
  /** The hashes of the transactions by which they have settled. */
  transactions(requestIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** A top-up that was paid and booked. */
export interface PaidTopUp {
  readonly requestId: string;
  readonly at: Date;
  readonly amount: UsdcUnits;
  readonly credits: number;
  /** Undefined where the books of payments do not say it. */
  readonly transaction: string | undefined;
}

type TopUpReply =
  | {
      readonly kind: 'topped-up';
      readonly order: TopUpOrder;
      readonly requestId: string;
      readonly transaction: string;
      readonly receiptHeader: string;
    }
  | Extract<TopUpPayment, { kind: 'refused' }>;

export interface TopUps {
  /** What an amount buys; a refusal when it is too little, too much, or not a whole credit. */
  order(accountId: string, amountUsd: UsdcUnits | undefined): TopUpOrder | Refusal;
  /** Takes the payment and books the credits once, however often it is presented. */
  topUp(call: TopUpCall): Promise<TopUpReply>;
  /** The newest top-ups of an account that were paid. */
  paid(accountId: string, count: number): Promise<readonly PaidTopUp[]>;
  /**
   * Books the credits of payments that settled while nobody was there to book them: called
   * every minute. Returns how many.
   */
  recover(): Promise<number>;
}

/** A top-up's bounds: one cent to 10,000 USD. */
const AMOUNT = { min: usdcUnits(10_000n), max: usdcUnits(10_000_000_000n) };
/** Orders looked at in one recovery, and their age: no payment settles later. */
const RECOVERED_MAX = 500;
const RECOVERY_MS = 7 * 24 * 3600 * 1000;

interface TopUpParts {
  readonly payments: TopUpPayments;
  /** Of one credit, in atomic USDC. */
  readonly priceUnits: UsdcUnits;
  /** Told of each booking, inside its transaction. */
  readonly onBooked: (tx: Kysely<AccountTables>, accountId: string) => Promise<unknown>;
}

export function openTopUps(
  store: Store,
  clock: Clock,
  { payments, priceUnits, onBooked }: TopUpParts,
): TopUps {
  /** Grants what the order of a settled payment says; the reference makes it once. */
  const book = async (requestId: string): Promise<TopUpOrder | undefined> =>
    store.write(async (tx: Kysely<AccountTables>) => {
      const now = clock.now();
      const row = await tx
        .updateTable('top_ups')
        .set({ granted_at: now })
        .where('request_id', '=', requestId)
        .returning(['account_id', 'credits', 'amount'])
        .executeTakeFirst();
      if (!row) return undefined;
      const order = {
        accountId: row.account_id,
        credits: Number(row.credits),
        amount: usdcUnits(row.amount),
      };
      const granted = await grantCredits(tx, {
        accountId: order.accountId,
        amount: order.credits,
        cause: 'top-up',
        reference: `top-up:${requestId}`,
        now,
      });
      if (granted === 'granted') await onBooked(tx, order.accountId);
      return order;
    });

  const forget = (requestId: string) =>
    store.write((tx: Kysely<AccountTables>) =>
      tx.deleteFrom('top_ups').where('request_id', '=', requestId).execute(),
    );

  return {
    order(accountId, amount) {
      const price = formatUsd(priceUnits);
      if (amount === undefined || amount < AMOUNT.min || amount > AMOUNT.max) {
        return refuse(
          'invalid_parameter',
          `amountUsd must be a string of dollars between ${formatUsd(AMOUNT.min)} and ` +
            `${formatUsd(AMOUNT.max)} with at most six decimals.`,
        );
      }
      if (amount % priceUnits !== 0n) {
        return refuse(
          'invalid_parameter',
          `amountUsd must be a multiple of the price of one credit, ${price} USD.`,
        );
      }
      return { accountId, amount, credits: Number(amount / priceUnits) };
    },
    async topUp(call) {
      const { order, requestId } = call;
      if (call.payment !== undefined) {
        await store.write((tx: Kysely<AccountTables>) =>
          tx
            .insertInto('top_ups')
            .values({
              request_id: requestId,
              account_id: order.accountId,
              credits: order.credits,
              amount: order.amount,
              created_at: clock.now(),
            })
            .execute(),
        );
      }
      const payment = await payments.pay(call);
      // Only the order of a payment that may yet settle is kept.
      const isOpen = payment.kind === 'refused' && payment.refusal.next === 'same-payment';
      if (!isOpen && (payment.kind === 'refused' || payment.requestId !== requestId)) {
        await forget(requestId);
      }
      if (payment.kind === 'refused') return payment;
      const booked = await book(payment.requestId);
      if (booked?.accountId !== order.accountId) {
        return { kind: 'refused', refusal: FOREIGN, receiptHeader: payment.receiptHeader };
      }
      const { transaction, receiptHeader } = payment;
      const reply = { requestId: payment.requestId, transaction, receiptHeader };
      return { kind: 'topped-up', order: booked, ...reply };
    },
    async paid(accountId, count) {
      const rows = await store.read((db: Kysely<AccountTables>) =>
        db
          .selectFrom('top_ups')
          .selectAll()
          .where('account_id', '=', accountId)
          .where('granted_at', 'is not', null)
          .orderBy('created_at', 'desc')
          .limit(count)
          .execute(),
      );
      const hashes = await payments.transactions(rows.map(({ request_id }) => request_id));
      return rows.map((row) => ({
        requestId: row.request_id,
        at: new Date(Number(row.granted_at ?? row.created_at)),
        amount: usdcUnits(row.amount),
        credits: Number(row.credits),
        transaction: hashes.get(row.request_id),
      }));
    },
    async recover() {
      const open = await store.read((db: Kysely<AccountTables>) =>
        db
          .selectFrom('top_ups')
          .select('request_id')
          .where('granted_at', 'is', null)
          .where('created_at', '>', BigInt(clock.now() - RECOVERY_MS))
          .orderBy('created_at', 'desc')
          .limit(RECOVERED_MAX)
          .execute(),
      );
      if (open.length === 0) return 0;
      const settled = await payments.settled(open.map(({ request_id }) => request_id));
      for (const requestId of settled) await book(requestId);
      return settled.length;
    },
  };
}

const FOREIGN = refuse(
  'authorization_bound_to_other_request',
  'This payment was made for another account or amount. Sign a new one for this top-up.',
  { reason: 'authorization_bound_to_other_request' },
);
