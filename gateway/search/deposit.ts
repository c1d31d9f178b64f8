import type { ChainAllowance } from '../ground/domain/allowance.js';
import { refuse } from '../ground/domain/refusal.js';
import type { Bytes32 } from '../ground/domain/units.js';
import type { ChannelBooks } from '../money/channel-books/books.js';
import type { CheckedDeposit } from '../money/channels/check.js';
import type { RequestBinding } from '../money/ledger/payment.js';
import type { CheckedAuthorization, SignedAuthorization } from '../money/payment/authorization.js';
import { channelReasons } from '../money/x402/channel-reasons.js';
import { reasons } from '../money/x402/reasons.js';
import type { Receipt } from '../money/x402/receipt.js';
import { stateOf, voucherReceipt } from './channel-replies.js';
import { createPaidSearch } from './paid.js';
import type { PaidSearchParts, PaymentLedger } from './paid-ports.js';
import { RELEASED } from './paid-replies.js';
import { refused, type SearchReply } from './reply.js';
import {
  replyWithoutSearch,
  voucherFor,
  type VoucherPurchase,
  type VoucherTerms,
} from './voucher.js';

export interface DepositSearchParts {
  /** The way of every payment: a deposit takes it, too. */
  readonly paid: Pick<
    PaidSearchParts<never>,
    'ledger' | 'settlement' | 'turns' | 'settlementWaitMs'
  >;
  /** Whether the chain would take this deposit now. */
  confirm: PaidSearchParts<never>['verifier']['confirm'];
  readonly books: ChannelBooks;
  readonly terms: () => VoucherTerms;
  /**
   * Reads what the contract says about a channel, at the newest block and not before this one, into
   * the books. @throws as the chain does.
   */
  readonly refresh: (channelId: Bytes32, notBefore: bigint) => Promise<void>;
}

interface DepositPurchase extends VoucherPurchase {
  readonly allowance: ChainAllowance;
}

/**
 * A search that is paid for by the voucher that comes with a deposit. The deposit is a payment like
 * any other: simulated and reserved before the search, sent after it, followed, and answered once it
 * has settled. Its voucher is reserved with it, and charged once the money is in the channel.
 */
export function createDepositSearch(parts: DepositSearchParts) {
  const { books, refresh, terms } = parts;
  /** The deposit of each authorization under way: the way of payments knows only the latter. */
  const deposits = new WeakMap<SignedAuthorization, CheckedDeposit>();

  const search = createPaidSearch<CheckedDeposit>({
    ...parts.paid,
    // A deposit is made whatever its first search finds.
    chargesEmpty: true,
    identifierOf: () => undefined,
    verifier: {
      check: (deposit) => {
        const { authorization, objection } = deposit;
        const checked: CheckedAuthorization = {
          ...authorization,
          signedBy: 'key',
          ...(objection && { objection }),
        };
        deposits.set(checked, deposit);
        return Promise.resolve(checked);
      },
      confirm: parts.confirm,
    },
    ledger: withVouchers(parts, deposits),
  });

  /** The charge of a deposit that has settled, and the channel as the chain tells it then. */
  const complete = async (deposit: CheckedDeposit, receipt: Receipt): Promise<Receipt> => {
    const { channelId, config } = deposit;
    const settled = await parts.paid.ledger.find(deposit.authorization);
    // What cannot be read now is read at the watcher's next look.
    await refresh(channelId, settled?.block?.number ?? 0n).catch(() => undefined);
    const charged = await books.completeDeposit(deposit);
    const moved = 'transaction' in receipt && 'amount' in receipt ? { moved: receipt } : {};
    const { chainId, payer } = receipt;
    if (charged) return voucherReceipt(charged, { chainId, config }, moved.moved);
    const channel = await books.find(channelId);
    if (!channel) throw new Error('a deposit settled into a channel that is not in the books');
    return { chainId, payer, channel: stateOf(channel), ...moved };
  };

  return async (
    deposit: CheckedDeposit,
    purchase: DepositPurchase,
    signal: AbortSignal,
  ): Promise<SearchReply> => {
    const known = await books.look(deposit);
    // Its voucher has bought a search before: a deposit that came anew is not taken for it.
    const isOther =
      known.kind === 'charged' &&
      (await parts.paid.ledger.find(deposit.authorization)) === undefined;
    if (isOther) return replyWithoutSearch(known, purchase);
    const reply = await search(deposit, purchase, signal);
    if (reply.kind === 'refused') return inTheSchemesWords(reply);
    // What was answered without a transfer has its channel's receipt already.
    if (!reply.receipt || 'channel' in reply.receipt) return reply;
    return { ...reply, receipt: await complete(deposit, reply.receipt) };
  };

  /** The books of payments, where each deposit takes its voucher along. */
  function withVouchers(
    { paid: { ledger } }: DepositSearchParts,
    known: WeakMap<SignedAuthorization, CheckedDeposit>,
  ): PaymentLedger {
    const reserveBoth = async <Reserved extends { readonly kind: string }>(
      authorization: SignedAuthorization,
      binding: RequestBinding,
      requestId: string,
      reserve: () => Promise<Reserved>,
    ) => {
      const deposit = known.get(authorization);
      if (!deposit) throw new Error('a deposit that was not checked');
      await books.open(deposit.channelId, deposit.config);
      const purchase = { binding, requestId };
      const voucher = voucherFor(deposit, purchase, terms(), authorization.value);
      const taken = await books.reserve(voucher);
      if (taken.kind !== 'reserved') {
        return { kind: 'answered', reply: replyWithoutSearch(taken, purchase) } as const;
      }
      const reservation = await reserve();
      if (reservation.kind !== 'reserved' || !('payment' in reservation)) {
        await books.release(voucher);
        return reservation;
      }
      const { id } = reservation.payment as { readonly id: string };
      if (await books.attach(voucher, id)) return reservation;
      await ledger.release(id, 'voucher_taken');
      return { kind: 'answered', reply: refused(requestId, RELEASED) } as const;
    };
    return {
      ...ledger,
      reserve: (authorization, binding, requestId, identifier) =>
        reserveBoth(authorization, binding, requestId, () =>
          ledger.reserve(authorization, binding, requestId, identifier),
        ),
      reserveForCode: (codePayer, authorization, binding, requestId, identifier) =>
        reserveBoth(authorization, binding, requestId, () =>
          ledger.reserveForCode(codePayer, authorization, binding, requestId, identifier),
        ),
      release: async (paymentId, reason) => {
        await ledger.release(paymentId, reason);
        await books.releaseDeposit(paymentId);
      },
    };
  }
}

/** What the way of payments says of a transfer, as the scheme says it of a deposit. */
const WORDS: ReadonlyMap<string, string> = new Map([
  [reasons.balance, channelReasons.payerBalance],
  [reasons.simulation, channelReasons.depositSimulation],
  [reasons.nonceUsed, channelReasons.depositSimulation],
  [reasons.signature, channelReasons.depositSignature],
  [reasons.transaction, channelReasons.depositTransaction],
  [reasons.validBefore, channelReasons.validBefore],
  [reasons.validAfter, channelReasons.validAfter],
]);

function inTheSchemesWords(
  reply: Extract<SearchReply, { kind: 'refused' }>,
): Extract<SearchReply, { kind: 'refused' }> {
  const { refusal, receipt, offer } = reply;
  const reason = refusal.reason === undefined ? undefined : WORDS.get(refusal.reason);
  if (reason === undefined) return reply;
  const errorReason = receipt && 'errorReason' in receipt ? { errorReason: reason } : {};
  return {
    ...reply,
    refusal: { ...refuse(refusal.code, refusal.detail), ...refusal, reason },
    ...(offer && { offer: { ...offer, error: reason } }),
    ...(receipt && { receipt: { ...receipt, ...errorReason } }),
  };
}
