import { createHash } from 'node:crypto';
import type { Claimant, Packs } from '../customers/packs/packs.js';
import type { PackSize } from '../customers/packs/sizes.js';
import type { Random } from '../ground/domain/ports.js';
import { isRefusal, refuse, type Refusal } from '../ground/domain/refusal.js';
import type { PackSales } from '../edge/http/pack-routes.js';
import type { Payment, RequestBinding, StoredReply } from '../money/ledger/payment.js';
import type { PresentedPayment } from '../money/x402/payment.js';
import { reasons } from '../money/x402/reasons.js';
import type { PaymentTerms } from '../money/x402/terms.js';
import type { createPaidSearch } from '../search/paid.js';
import { PACK_DISCOVERY } from './discovery.js';
import { createSale, type SalePresented } from './sale.js';

interface PackPaymentParts {
  readonly packs: Packs;
  readonly random: Random;
  readonly terms: PaymentTerms;
  readonly publicUrl: string;
  /** The payment path. */
  readonly buy: ReturnType<typeof createPaidSearch<SalePresented, PackSize>>;
}

/** 128 random bits as base64url: clients send them back as they are, in `accepted.extra`. */
const TICKET_BYTES = 16;
const TICKET_SHAPE = /^[A-Za-z0-9_-]{22,64}$/;

/**
 * Sells packs. A settled authorization stands on the chain with its signature, so anybody could
 * present it again; the key goes to whoever also names the ticket of the quote that was paid, which
 * never leaves the payer's conversation with the gateway.
 */
export function createPackPayments(parts: PackPaymentParts): PackSales['pay'] {
  const { packs, random, terms } = parts;
  const sell = createSale({
    terms,
    resource: {
      url: new URL('/packs', parts.publicUrl).href,
      description: 'A key for many searches, paid once, without an account',
      mimeType: 'application/json',
      discovery: PACK_DISCOVERY,
    },
    unpaid:
      'Sign the authorization that the PAYMENT-REQUIRED header describes and repeat the request ' +
      'with a PAYMENT-SIGNATURE header. The reply holds the key; the same payment gets it again.',
    buy: parts.buy,
  });
  return ({ size, ...call }) =>
    sell({
      ...call,
      order: size,
      amount: size.amount,
      binding: bindingOf(size),
      extra: { ticket: Buffer.from(random.bytes(TICKET_BYTES)).toString('base64url') },
      purchase: (payment) => {
        const ticket = ticketOf(payment);
        if (isRefusal(ticket)) return ticket;
        return {
          secret: ticket,
          run: async (order, { requestId }) => {
            const { transfer } = payment;
            if (!transfer) throw new Error('a payment without a transfer was reserved');
            const { chainId, asset } = terms;
            const { from: payer, nonce } = transfer;
            const sale = { size: order, payment: { chainId, asset, payer, nonce }, ticket };
            await packs.prepare(requestId, sale);
            return BOOKED;
          },
          deliver: async (paid, presenter) => {
            const claimant: Claimant =
              presenter === 'payer' ? { kind: 'payer' } : { kind: 'ticket', ticket };
            const reply = await deliverPack(packs, paid, claimant);
            if (!reply) throw new Error('a pack was paid and is not in the books');
            return reply;
          },
        };
      },
    });
}

/** What a payment for a pack gets; undefined where it was for something else. */
export async function deliverPack(
  packs: Packs,
  payment: Pick<Payment, 'requestId'>,
  claimant: Claimant,
): Promise<StoredReply | Refusal | undefined> {
  const pack = await packs.deliver(payment.requestId, claimant);
  if (pack === undefined || isRefusal(pack)) return pack;
  return { body: pack.body, contentType: 'application/json', requestId: pack.requestId };
}

/** The ledger keeps no key: what it is given to keep says nothing. */
const BOOKED = { kind: 'answer', body: Buffer.from('{}'), resultCount: 0 } as const;

function ticketOf({ accepted }: PresentedPayment): string | Refusal {
  const ticket = accepted?.extra?.ticket;
  if (typeof ticket === 'string' && TICKET_SHAPE.test(ticket)) return ticket;
  return refuse(
    'payment_invalid',
    'Send back what the quote says in "extra", its ticket included, as x402 clients do: the key ' +
      'is handed out again for payment and ticket together.',
    { reason: reasons.requirements },
  );
}

/** Not to the price: what was paid at an earlier one comes again to fetch its key. */
function bindingOf({ searches }: PackSize): RequestBinding {
  const canonical = JSON.stringify([searches]);
  return `0x${createHash('sha256').update(`POST\n/packs\n${canonical}`).digest('hex')}`;
}
