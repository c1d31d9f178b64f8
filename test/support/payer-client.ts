/** Payers that send one payment and insist on its outcome, as a careful client does. */
import { setTimeout as sleep } from 'node:timers/promises';
import { decodePaymentResponseHeader } from '@x402/core/http';
import { type Address, bytes32, type Bytes32 } from '../../gateway/ground/domain/units.js';
import { type Payer, randomNonce } from './chain.js';
import { paymentHeader, terms, type PaymentParts } from './presented.js';

/** What the gateway of these payers has to be told: the resource that their payments name. */
export const PAYERS_PUBLIC_URL = 'http://localhost:4020';

/** One payment with all that its payer knows of it. */
export interface Attempt {
  readonly payer: Address;
  readonly nonce: Bytes32;
  readonly header: string;
  /** What it asks for. */
  readonly query: string;
  /** The results came, with this receipt. */
  delivered?: { readonly transaction: string; readonly body: string };
  /** It was refused for good: the status and the code, and what was said about it. */
  refused?: string;
  detail?: string;
}

/** Signs a payment of 50 units to `payTo`, or with parts that a good payer would not send. */
export async function newAttempt(
  payer: Payer,
  payTo: Address,
  parts: PaymentParts & { readonly query?: string } = {},
): Promise<Attempt> {
  const { query = 'lighthouse' } = parts;
  const nonce = bytes32(parts.nonce ?? randomNonce());
  const validBefore = String(Math.floor(Date.now() / 1000) + 300);
  const header = await paymentHeader(terms({ payTo }), {
    key: payer.privateKey,
    validBefore,
    ...parts,
    nonce,
  });
  return { payer: payer.address, nonce, header, query };
}

/** `POST /search` with this payment, once. @throws when the connection breaks. */
function present(url: string, { header, query }: Attempt): Promise<Response> {
  return fetch(`${url}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'payment-signature': header },
    body: JSON.stringify({ query }),
  });
}

/**
 * Sends a payment again and again until its outcome is known, and writes it down.
 * @throws when the connection breaks, or after `withinMs`.
 */
export async function insist(
  url: string,
  attempt: Attempt,
  { withinMs = 60_000, everyMs = 250 } = {},
): Promise<void> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const response = await present(url, attempt);
    const body = await response.text();
    if (response.status === 200) {
      const receipt = response.headers.get('payment-response');
      if (receipt === null) throw new Error('results without a receipt');
      attempt.delivered = { transaction: decodePaymentResponseHeader(receipt).transaction, body };
      return;
    }
    if (response.status < 500) {
      const { code, detail } = JSON.parse(body) as { code: string; detail: string };
      attempt.refused = `${response.status} ${code}`;
      attempt.detail = detail;
      return;
    }
    if (Date.now() > deadline) throw new Error(`no outcome but ${response.status}: ${body}`);
    await sleep(everyMs);
  }
}
