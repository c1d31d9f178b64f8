import { Router, type Request, type RequestHandler, type Response } from 'express';
import type { ChainAllowance } from '../../ground/domain/allowance.js';
import { isRefusal, refuse } from '../../ground/domain/refusal.js';
import { parseBytes32, type Bytes32 } from '../../ground/domain/units.js';
import { rateHeaders, type Admission } from '../../customers/limits/admission.js';
import type { Receipt } from '../../money/x402/receipt.js';
import type { PaymentInquiry } from '../../search/payment-status.js';
import type { Delivered } from '../../search/proofs.js';
import { createCors } from './cors.js';
import { sendJson, sendRefusal } from './error-reply.js';
import { nameOrigin } from './origin-headers.js';
import { requestIdOf } from './request-id.js';

export interface PaymentRouteParts {
  readonly inquiry: PaymentInquiry;
  /** Counts one question of an address. */
  readonly admitAddress: (address: string) => Admission;
  /** What an address that pays nothing for asking may have asked of the chain. */
  readonly chainAllowance: (address: string) => ChainAllowance;
  /** The value of `PAYMENT-RESPONSE`. */
  receiptHeader(receipt: Receipt, version: 2, delivered: Delivered): string;
}

/** `GET /payments/{nonce}` and its reply, for the payer of an authorization alone. */
export function paymentRoutes(parts: PaymentRouteParts): Router {
  const { inquiry } = parts;
  const status = guarded(parts, async ({ nonce, proof, allowance }, response) => {
    const report = await inquiry.status(nonce, proof, allowance);
    if (isRefusal(report)) return report;
    response.setHeader('Cache-Control', 'private, no-store');
    sendJson(response, 200, Buffer.from(JSON.stringify(report)));
    return undefined;
  });
  const reply = guarded(parts, async ({ nonce, proof, allowance }, response) => {
    const found = await inquiry.reply(nonce, proof, allowance);
    if (isRefusal(found)) return found;
    response.setHeader('X-Request-Id', found.reply.requestId);
    const delivered = { sold: found.sold, body: found.reply.body };
    response.setHeader('PAYMENT-RESPONSE', parts.receiptHeader(found.receipt, 2, delivered));
    nameOrigin(response, found.reply);
    response.setHeader('Cache-Control', 'private, no-store');
    sendJson(response, 200, found.reply.body);
    return undefined;
  });
  const cors = createCors('GET');
  const router = Router({ caseSensitive: true, strict: true });
  router.all('/payments/:nonce', cors, status);
  router.all('/payments/:nonce/reply', cors, reply);
  return router;
}

interface Question {
  readonly nonce: Bytes32;
  readonly proof: string | undefined;
  readonly allowance: ChainAllowance;
}

type Answer = (
  question: Question,
  response: Response,
) => Promise<ReturnType<typeof refuse> | undefined>;

/** Path, method and rate, before anything is read. */
function guarded(parts: PaymentRouteParts, answer: Answer): RequestHandler {
  return async (request, response, next) => {
    const { nonce: text } = request.params;
    const nonce = typeof text === 'string' ? parseBytes32(text) : undefined;
    if (!nonce) {
      next();
      return;
    }
    const requestId = requestIdOf(response);
    if (request.method !== 'GET') {
      response.setHeader('Allow', 'GET');
      sendRefusal(response, METHOD_NOT_ALLOWED, requestId);
      return;
    }
    const address = request.ip ?? 'unknown';
    const admission = parts.admitAddress(address);
    response.setHeaders(new Map(Object.entries(rateHeaders(admission))));
    const question = { nonce, proof: proofOf(request), allowance: parts.chainAllowance(address) };
    const refusal =
      admission.kind === 'limited' ? admission.refusal : await answer(question, response);
    if (refusal) sendRefusal(response, refusal, requestId);
  };
}

/** The header, where it was sent exactly once; Node joins repeated ones with a comma. */
function proofOf(request: Request): string | undefined {
  const value = request.headers['payment-proof'];
  return typeof value === 'string' ? value : undefined;
}

const METHOD_NOT_ALLOWED = refuse('method_not_allowed', 'Use GET for /payments/{nonce}.');
