import { Router, type RequestHandler, type Response } from 'express';
import { rateHeaders, type Admission } from '../../customers/limits/admission.js';
import { isRefusal, refuse } from '../../ground/domain/refusal.js';
import type { RefundReply } from '../../search/refund.js';
import { createCors } from './cors.js';
import { readCredentials } from './credentials.js';
import { sendJson, sendRefusal } from './error-reply.js';
import { requestIdOf } from './request-id.js';
import type { PaymentWire } from './search-route.js';

export interface ChannelRouteParts {
  /** Gives back what the refund in a `PAYMENT-SIGNATURE` header asks for. */
  readonly refund: (header: string, requestId: string) => Promise<RefundReply>;
  /** Counts one question of an address. */
  readonly admitAddress: (address: string) => Admission;
  readonly wire: PaymentWire;
}

/**
 * `GET /channels`, the address for official clients' `refund(url)`: without a payment it answers 402
 * with what is offered, with the scheme's refund payload it gives back what is left in the channel.
 * Absent parts leave the path out: channels are off.
 */
export function channelRoutes(parts: ChannelRouteParts | undefined): Router {
  const router = Router({ caseSensitive: true, strict: true });
  if (!parts) return router;
  const cors = createCors('GET');
  return router.all('/channels', cors, channelRoute(parts));
}

function channelRoute({ refund, admitAddress, wire }: ChannelRouteParts): RequestHandler {
  return async (request, response) => {
    const requestId = requestIdOf(response);
    if (request.method !== 'GET') {
      response.setHeader('Allow', 'GET');
      sendRefusal(response, METHOD_NOT_ALLOWED, requestId);
      return;
    }
    const admission = admitAddress(request.ip ?? 'unknown');
    response.setHeaders(new Map(Object.entries(rateHeaders(admission))));
    if (admission.kind === 'limited') {
      sendRefusal(response, admission.refusal, requestId);
      return;
    }
    const credentials = readCredentials(request, { x402V1: false });
    if (isRefusal(credentials)) sendRefusal(response, credentials, requestId);
    else if (credentials.kind === 'payment')
      send(response, await refund(credentials.value, requestId), wire, requestId);
    else {
      const offer = { error: UNPAID.reason ?? UNPAID.code };
      send(response, { kind: 'refused', requestId, refusal: UNPAID, offer }, wire, requestId);
    }
  };
}

function send(response: Response, reply: RefundReply, wire: PaymentWire, requestId: string): void {
  if (reply.receipt) response.setHeader('PAYMENT-RESPONSE', wire.receiptHeader(reply.receipt, 2));
  if (reply.kind === 'refunded') {
    response.setHeader('Cache-Control', 'private, no-store');
    const body = { refundedUnits: reply.amount.toString() };
    sendJson(response, 200, Buffer.from(JSON.stringify(body)));
    return;
  }
  if (reply.offer) response.setHeader('PAYMENT-REQUIRED', wire.challengeHeader(reply.offer));
  sendRefusal(response, reply.refusal, requestId);
}

const METHOD_NOT_ALLOWED = refuse('method_not_allowed', 'Use GET for /channels.');

const UNPAID = refuse(
  'payment_required',
  'The PAYMENT-REQUIRED header says how channels are opened and paid with at POST /search. To get ' +
    'your money back, send the refund payload of the scheme batch-settlement here.',
  { reason: 'Payment required' },
);
