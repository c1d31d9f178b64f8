import { Router, type Request, type RequestHandler, type Response } from 'express';
import type { z } from 'zod';
import { rateHeaders, type Admission } from '../../customers/limits/admission.js';
import type { PackHolders } from '../../customers/packs/holders.js';
import { sizeFor, type PackSize } from '../../customers/packs/sizes.js';
import type { ChainAllowance } from '../../ground/domain/allowance.js';
import { parseParameters } from '../../ground/domain/parameters.js';
import { isRefusal, refuse, type Refusal } from '../../ground/domain/refusal.js';
import { SIGN_IN_USED, type SignedIn, type WalletSignIn } from '../../search/wallet-sign-in.js';
import { hangUpUnfinished, readJsonBody, type BodyLimits } from './body.js';
import { createCors } from './cors.js';
import { readCredentials } from './credentials.js';
import { sendJson, sendRefusal } from './error-reply.js';
import { packRequestSchema, type packListSchema, type revokedPackSchema } from './pack-wire.js';
import { markPaid } from './paid.js';
import { requestIdOf } from './request-id.js';
import { goneSignal } from './search-route.js';

/** What became of a payment for a pack. Header values are those of x402's HTTP transport. */
type PackOutcome =
  | {
      readonly kind: 'paid';
      readonly requestId: string;
      /** The exact bytes of the 200. */
      readonly body: Uint8Array;
      readonly receiptHeader: string;
    }
  | {
      readonly kind: 'refused';
      readonly refusal: Refusal;
      readonly challengeHeader?: string;
      readonly receiptHeader?: string;
    };

/** Packs on sale, and the payments for them. */
export interface PackSales {
  /** The first is sold where a buyer does not say which. */
  readonly sizes: readonly PackSize[];
  pay(call: {
    readonly size: PackSize;
    /** The value of `PAYMENT-SIGNATURE`, if there was one. */
    readonly payment: string | undefined;
    readonly requestId: string;
    readonly allowance: ChainAllowance;
    readonly signal: AbortSignal;
  }): Promise<PackOutcome>;
}

export interface PackRouteParts {
  readonly sales: PackSales;
  readonly holders: Pick<PackHolders, 'list' | 'revoke'>;
  readonly signIn: WalletSignIn;
  readonly bodyLimits: BodyLimits;
  /** Counts one request of an address. */
  readonly admitAddress: (address: string, policy: 'payment' | 'challenge') => Admission;
  /** What an address may still have asked of the chain; given back when it has paid. */
  readonly chainAllowance: (address: string) => ChainAllowance & { giveBack(): void };
}

/** Packs: bought without an account, listed and revoked by the wallet that paid. */
export function packRoutes(parts: PackRouteParts): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all('/packs', createCors('GET, POST'));
  router.post('/packs', buy(parts));
  router.get('/packs', signedIn(parts, list(parts)));
  router.all('/packs', notAllowed('GET, POST'));
  router.use('/packs/:id', ofPack);
  router.all('/packs/:id', createCors('DELETE'));
  router.delete('/packs/:id', signedIn(parts, revoke(parts)));
  router.all('/packs/:id', notAllowed('DELETE'));
  return router;
}

/** Counts a request of its address; undefined and a reply where that is over its rate. */
function admitted(
  { admitAddress }: PackRouteParts,
  response: Response,
  address: string,
  policy: 'payment' | 'challenge',
): boolean {
  const admission = admitAddress(address, policy);
  response.setHeaders(new Map(Object.entries(rateHeaders(admission))));
  if (admission.kind === 'admitted') return true;
  sendRefusal(response, admission.refusal, requestIdOf(response));
  return false;
}

/**
 * `POST /packs` with `{}` or `{"searches":1000}`: a 402 with a quote, then the same request with its
 * payment gets the key; the same payment again gets the same bytes.
 */
function buy(parts: PackRouteParts): RequestHandler {
  return async (request, response) => {
    const requestId = requestIdOf(response);
    const refuseWith = (refusal: Refusal) => {
      hangUpUnfinished(request, response);
      sendRefusal(response, refusal, requestId);
    };
    const body = await readJsonBody(request, parts.bodyLimits);
    if (isRefusal(body)) {
      refuseWith(body);
      return;
    }
    const payment = paymentOf(request);
    if (isRefusal(payment)) {
      refuseWith(payment);
      return;
    }
    const address = request.ip ?? 'unknown';
    if (!admitted(parts, response, address, payment === undefined ? 'challenge' : 'payment'))
      return;
    const read = parseParameters(packRequestSchema, body.value);
    const size = isRefusal(read) ? read : sizeFor(parts.sales.sizes, read.parameters.searches);
    if (isRefusal(size)) {
      refuseWith(size);
      return;
    }
    const allowance = parts.chainAllowance(address);
    const signal = goneSignal(response);
    const outcome = await parts.sales.pay({ size, payment, requestId, allowance, signal });
    if (outcome.kind === 'paid') {
      allowance.giveBack();
      markPaid(response);
    }
    send(response, outcome, requestId);
  };
}

function send(response: Response, outcome: PackOutcome, requestId: string): void {
  if (response.destroyed) return;
  if (outcome.receiptHeader !== undefined) {
    response.setHeader('PAYMENT-RESPONSE', outcome.receiptHeader);
  }
  if (outcome.kind === 'paid') {
    response.setHeader('X-Request-Id', outcome.requestId);
    response.setHeader('Cache-Control', 'private, no-store');
    sendJson(response, 200, outcome.body);
    return;
  }
  if (outcome.challengeHeader !== undefined) {
    response.setHeader('PAYMENT-REQUIRED', outcome.challengeHeader);
  }
  sendRefusal(response, outcome.refusal, requestId);
}

/** The one payment header; a key has no use here. */
function paymentOf(request: Request): string | undefined | Refusal {
  const credentials = readCredentials(request, { x402V1: false });
  if (isRefusal(credentials)) return credentials;
  switch (credentials.kind) {
    case 'payment':
      return credentials.value;
    case 'bearer':
      return WITH_KEY;
    default:
      return undefined;
  }
}

/** Answers, or says why not. */
type Handler = (
  wallet: SignedIn,
  request: Request,
  response: Response,
) => Promise<Refusal | undefined>;

/** Who signed in, by the header of this very request. */
function signedIn(parts: PackRouteParts, handler: Handler): RequestHandler {
  const { signIn } = parts;
  return async (request, response) => {
    const address = request.ip ?? 'unknown';
    if (!admitted(parts, response, address, 'challenge')) return;
    response.setHeader('Cache-Control', 'private, no-store');
    const proof = request.headers['sign-in-with-x'];
    const wallet = await signIn.prove(
      typeof proof === 'string' ? proof : undefined,
      request.path,
      parts.chainAllowance(address),
    );
    const refusal = isRefusal(wallet) ? wallet : await handler(wallet, request, response);
    if (!refusal) return;
    if (refusal.code === 'wallet_sign_in_required') {
      response.setHeader('PAYMENT-REQUIRED', signIn.challengeHeader(request.path));
    }
    sendRefusal(response, refusal, requestIdOf(response));
  };
}

function list({ holders }: PackRouteParts): Handler {
  return async (wallet, _request, response) => {
    const packs = await holders.list(wallet);
    if (packs === 'used') return SIGN_IN_USED;
    const body: z.output<typeof packListSchema> = { packs };
    sendJson(response, 200, Buffer.from(JSON.stringify(body)));
    return undefined;
  };
}

function revoke({ holders }: PackRouteParts): Handler {
  return async (wallet, request, response) => {
    const { id } = request.params;
    if (typeof id !== 'string') return NO_PACK;
    const outcome = await holders.revoke(wallet, id);
    if (outcome === 'used') return SIGN_IN_USED;
    if (outcome === 'not-found') return NO_PACK;
    const body: z.output<typeof revokedPackSchema> = { id, state: 'revoked' };
    sendJson(response, 200, Buffer.from(JSON.stringify(body)));
    return undefined;
  };
}

/** Anything else below `/packs` is not there. */
const ofPack: RequestHandler = (request, _response, next) => {
  const { id } = request.params;
  next(typeof id === 'string' && PACK_ID.test(id) ? undefined : 'router');
};

const PACK_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function notAllowed(allow: string): RequestHandler {
  const refusal = refuse('method_not_allowed', `Use ${allow.replace(', ', ' or ')} here.`);
  return (_request, response) => {
    response.setHeader('Allow', allow);
    sendRefusal(response, refusal, requestIdOf(response));
  };
}

const WITH_KEY = refuse(
  'ambiguous_credentials',
  'A pack is bought without a key. To add credits to a key’s own account, use POST /account/credits.',
);
const NO_PACK = refuse('not_found', 'This wallet has paid for no pack with this id.');
