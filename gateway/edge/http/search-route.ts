import type { ServerResponse } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import { isRefusal, refuse, type Refusal } from '../../ground/domain/refusal.js';
import type { Face } from '../../search/caller.js';
import { rateHeaders } from '../../customers/limits/admission.js';
import type { Search } from '../../search/pipeline.js';
import type { Delivered } from '../../search/proofs.js';
import { isPaidFor, type Offer, type SearchReply } from '../../search/reply.js';
import type { Receipt } from '../../money/x402/receipt.js';
import { hangUpUnfinished, readJsonBody, type BodyLimits } from './body.js';
import { readCredentials, readIdempotencyKey } from './credentials.js';
import { sendJson, sendRefusal } from './error-reply.js';
import { nameOrigin } from './origin-headers.js';
import { markPaid } from './paid.js';
import { requestIdOf } from './request-id.js';

/** The payment headers and bodies of x402, made from the pipeline's outcomes. */
export interface PaymentWire {
  /** The value of `PAYMENT-REQUIRED`. */
  challengeHeader(offer: Offer): string;
  /** The body of version 1's challenge, where version 1 is spoken. */
  challengeBodyV1?(offer: Offer): Uint8Array;
  /** The value of `PAYMENT-RESPONSE` (2) or `X-PAYMENT-RESPONSE` (1). */
  receiptHeader(receipt: Receipt, version: 1 | 2, delivered?: Delivered): string;
}

export interface SearchRouteParts {
  readonly search: Search;
  readonly face: Face;
  readonly bodyLimits: BodyLimits;
  readonly wire: PaymentWire;
}

/** `POST /search`: HTTP in, the pipeline, HTTP out. */
export function searchRoute(parts: SearchRouteParts): RequestHandler {
  const { face, wire } = parts;
  const x402V1 = wire.challengeBodyV1 !== undefined;

  return async (request, response) => {
    const requestId = requestIdOf(response);
    const body = await readJsonBody(request, parts.bodyLimits);
    if (isRefusal(body)) {
      hangUpUnfinished(request, response);
      sendRefusal(response, body, requestId);
      return;
    }
    const credentials = readCredentials(request, { x402V1 });
    if (isRefusal(credentials)) {
      sendRefusal(response, credentials, requestId);
      return;
    }
    const idempotencyKey = credentials.kind === 'bearer' ? readIdempotencyKey(request) : undefined;
    if (isRefusal(idempotencyKey)) {
      sendRefusal(response, idempotencyKey, requestId);
      return;
    }
    const address = addressOf(request);
    const signal = goneSignal(response);
    const { value } = body;
    const reply = await parts.search({
      requestId,
      face,
      credentials,
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      body: value,
      address,
      signal,
    });
    if (isPaidFor(reply)) markPaid(response);
    const version = credentials.kind === 'payment' ? credentials.version : 2;
    send(response, reply, wire, version);
  };
}

function addressOf(request: Request): string {
  return request.ip ?? 'unknown';
}

/** Aborts when the caller closes its connection before it has the whole reply. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

function send(response: Response, reply: SearchReply, wire: PaymentWire, version: 1 | 2): void {
  if (response.destroyed) return;
  response.setHeader('X-Request-Id', reply.requestId);
  if (reply.rate) {
    const headers = rateHeaders({ kind: 'admitted', rate: reply.rate });
    response.setHeaders(new Map(Object.entries(headers)));
  }
  if (reply.receipt) {
    const name = version === 1 ? 'X-PAYMENT-RESPONSE' : 'PAYMENT-RESPONSE';
    response.setHeader(name, wire.receiptHeader(reply.receipt, version, deliveredBy(reply)));
  }
  if (reply.kind === 'results') {
    nameOrigin(response, reply);
    response.setHeader('Cache-Control', 'private, no-store');
    sendJson(response, 200, reply.body);
    return;
  }
  if (reply.offer) response.setHeader('PAYMENT-REQUIRED', wire.challengeHeader(reply.offer));
  const bodyV1 = reply.offer && wire.challengeBodyV1?.(reply.offer);
  if (bodyV1) {
    response.setHeader('Cache-Control', 'no-store');
    sendJson(response, 402, bodyV1);
    return;
  }
  sendRefusal(response, reply.refusal, reply.requestId);
}

/** What a reply brings to who has paid for it. */
function deliveredBy(reply: SearchReply): Delivered | undefined {
  if (reply.kind !== 'results' || !reply.sold) return undefined;
  return { sold: reply.sold, body: reply.body };
}

/** Any other method on the path: 405 with `Allow`. */
export const methodNotAllowed: RequestHandler = (_request, response) => {
  response.setHeader('Allow', 'POST');
  sendRefusal(response, METHOD_NOT_ALLOWED, requestIdOf(response));
};

export const notFound: RequestHandler = (_request, response) => {
  sendRefusal(response, NOT_FOUND, requestIdOf(response));
};

const METHOD_NOT_ALLOWED: Refusal = refuse('method_not_allowed', 'Use POST for /search.');
const NOT_FOUND: Refusal = refuse('not_found', 'Not found. To search, use POST /search.');
