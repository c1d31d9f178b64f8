import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { TopUpOrder, TopUps } from '../../customers/credits/top-up.js';
import type { topUpSchema } from '../http/account-wire.js';
import { isRefusal, type Refusal } from '../../ground/domain/refusal.js';
import { sendJson, sendRefusal } from '../http/error-reply.js';
import { requestIdOf } from '../http/request-id.js';

/** Takes the payment of an order and answers: for scripts with a key, and for the console. */
export async function replyToTopUp(
  topUps: TopUps,
  order: TopUpOrder | Refusal,
  request: Request,
  response: Response,
): Promise<void> {
  const requestId = requestIdOf(response);
  if (isRefusal(order)) {
    sendRefusal(response, order, requestId);
    return;
  }
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const payment = request.headers['payment-signature'];
  const reply = await topUps.topUp({
    order,
    payment: Array.isArray(payment) ? payment.join(', ') : payment,
    requestId,
    signal: gone.signal,
  });
  if (reply.receiptHeader !== undefined) {
    response.setHeader('PAYMENT-RESPONSE', reply.receiptHeader);
  }
  if (reply.kind === 'refused') {
    if (reply.challengeHeader !== undefined) {
      response.setHeader('PAYMENT-REQUIRED', reply.challengeHeader);
    }
    sendRefusal(response, reply.refusal, requestId);
    return;
  }
  const { credits } = reply.order;
  const body: z.output<typeof topUpSchema> = {
    requestId: reply.requestId,
    credits,
    transaction: reply.transaction,
  };
  sendJson(response, 200, Buffer.from(JSON.stringify(body)));
}
