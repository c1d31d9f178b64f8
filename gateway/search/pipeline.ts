import type { SearchRequest } from '../../search-core/contract.js';
import type { ChainAllowance } from '../ground/domain/allowance.js';
import { isRefusal, refuse, type Refusal } from '../ground/domain/refusal.js';
import type { Caller } from '../customers/keys/caller.js';
import type { RequestBinding } from '../money/ledger/payment.js';
import type { Admission } from '../customers/limits/admission.js';
import type { RunSearch } from './answer.js';
import { bindingOf } from './binding.js';
import type { Credentials, Face } from './caller.js';
import type { KeyedSearch } from './idempotent.js';
import type { Keeping } from './keeping.js';
import { refused, type SearchReply } from './reply.js';
import { parseSearchRequest } from './request.js';

/** One search as it arrives, from HTTP or from the tool protocol. */
export interface SearchCall {
  readonly requestId: string;
  readonly face: Face;
  readonly credentials: Credentials;
  /** Makes copies of an account's search one search; a payment needs none. */
  readonly idempotencyKey?: string;
  /** The parsed body; nothing about it is known yet. */
  readonly body: unknown;
  /** The caller's network address, for limits on those who have shown nothing else. */
  readonly address: string;
  /** Aborts when the caller has gone. */
  readonly signal: AbortSignal;
}

/** Told how a search of an account ended; `request` is what it asked, once that was known. */
type Metered = (reply: SearchReply, request?: SearchRequest) => void;

/** The parts that a search is made of; `main` wires them. */
export interface SearchParts<Payload> {
  readonly run: RunSearch;
  /** In what form replies are kept. */
  readonly keeping: Keeping;
  /** Called when an account's search begins, for its usage. */
  meter(caller: Caller, requestId: string): Metered;
  /** Checks an Authorization header's value. */
  authenticate(authorization: string, address: string): Promise<Caller | Refusal>;
  /** Limits by account. */
  admitCaller(caller: Caller): Promise<Admission>;
  /** Limits by address, for those who pay or have shown nothing. */
  admitAddress(address: string, policy: 'payment' | 'challenge'): Admission;
  /** What an address may still have asked of the chain; given back when it has paid. */
  chainAllowance(address: string): ChainAllowance & { giveBack(): void };
  /** Reads a payment header strictly: malformed is a 400. */
  readPayment(version: 1 | 2, value: string): Payload | Refusal;
  readonly searchOnCredits: KeyedSearch;
  searchForPayment(
    payload: Payload,
    purchase: {
      request: SearchRequest;
      binding: RequestBinding;
      run: RunSearch;
      requestId: string;
      allowance: ChainAllowance;
    },
    signal: AbortSignal,
  ): Promise<SearchReply>;
}

/** Who asks, once checked. */
type Asker<Payload> =
  | { readonly kind: 'account'; readonly caller: Caller }
  | { readonly kind: 'payer'; readonly payload: Payload }
  | { readonly kind: 'nobody' };

/** One search, from credentials and a parsed body to its reply. */
export type Search = (call: SearchCall) => Promise<SearchReply>;

/**
 * The pipeline that every caller takes: who asks → may they → what do they ask → who pays.
 * Each stage takes what the stage before returned; whatever can be refused for free is.
 */
export function createSearch<Payload extends object>(parts: SearchParts<Payload>): Search {
  return async (call) => {
    const { requestId, signal } = call;
    const asker = await identify(call, parts);
    if (isRefusal(asker)) return refused(requestId, asker);
    const metered = asker.kind === 'account' ? parts.meter(asker.caller, requestId) : undefined;
    const admission = await admit(call, asker, parts);
    const request = parseSearchRequest(call.body);
    if (admission.kind === 'limited') {
      // The query is only for the account's own log: whether it is a good one is not said.
      return end(refused(requestId, admission.refusal), isRefusal(request) ? undefined : request);
    }
    if (isRefusal(request)) return end(refused(requestId, request));
    return end(await payAndSearch(asker, request), request);

    function end(reply: SearchReply, asked?: SearchRequest): SearchReply {
      metered?.(reply, asked);
      return withRate(reply, admission);
    }

    async function payAndSearch(
      paying: Asker<Payload>,
      asked: SearchRequest,
    ): Promise<SearchReply> {
      const run = running(parts);
      switch (paying.kind) {
        case 'account': {
          const { idempotencyKey } = call;
          const context = { requestId, signal, ...(idempotencyKey && { idempotencyKey }) };
          const reply = await parts.searchOnCredits(paying.caller, asked, run, context);
          return recalled(reply, asked, parts.keeping);
        }
        case 'payer': {
          const allowance = parts.chainAllowance(call.address);
          const binding = parts.keeping.bindingOf(asked);
          const purchase = { request: asked, binding, run, requestId, allowance };
          const reply = await parts.searchForPayment(paying.payload, purchase, signal);
          if (reply.kind === 'results' && !reply.isFree) allowance.giveBack();
          return recalled(reply, asked, parts.keeping);
        }
        case 'nobody':
          return refused(requestId, PAYMENT_REQUIRED);
      }
    }
  };
}

/** The search, whose reply has the form in which it is kept until it leaves. */
function running({ run, keeping }: Pick<SearchParts<object>, 'run' | 'keeping'>): RunSearch {
  return async (request, context) => {
    const answer = await run(request, context);
    if (answer.kind === 'refusal') return answer;
    return { ...answer, body: keeping.store(answer.body, request) };
  };
}

function recalled(reply: SearchReply, request: SearchRequest, keeping: Keeping): SearchReply {
  if (reply.kind === 'refused') return reply;
  const body = keeping.recall(reply.body, request);
  // The books may know the request by a keyed hash; the receipt names it so that its payer can check.
  const sold = reply.sold && { sold: { ...reply.sold, binding: bindingOf(request) } };
  return { ...reply, body, ...sold };
}

const PAYMENT_REQUIRED = refuse(
  'payment_required',
  'Send an API key, or pay for this search: sign the authorization that the PAYMENT-REQUIRED ' +
    'header describes and repeat the request with a PAYMENT-SIGNATURE header.',
  { reason: 'Payment required' },
);

const KEY_REQUIRED = refuse(
  'missing_api_key',
  'Send an API key as "Authorization: Bearer s402_live_…". Without a key, pay per search at the ' +
    'gateway’s address.',
);

async function identify<Payload extends object>(
  { face, credentials, address }: SearchCall,
  parts: SearchParts<Payload>,
): Promise<Asker<Payload> | Refusal> {
  if (credentials.kind === 'bearer') {
    const caller = await parts.authenticate(credentials.authorization, address);
    return isRefusal(caller) ? caller : { kind: 'account', caller };
  }
  if (credentials.kind === 'account') return credentials;
  if (face === 'api') return KEY_REQUIRED;
  if (credentials.kind === 'none') return { kind: 'nobody' };
  const payload = parts.readPayment(credentials.version, credentials.value);
  return isRefusal(payload) ? payload : { kind: 'payer', payload };
}

async function admit<Payload extends object>(
  { address }: SearchCall,
  asker: Asker<Payload>,
  parts: SearchParts<Payload>,
): Promise<Admission> {
  if (asker.kind === 'account') return parts.admitCaller(asker.caller);
  return parts.admitAddress(address, asker.kind === 'payer' ? 'payment' : 'challenge');
}

function withRate(reply: SearchReply, { rate }: Admission): SearchReply {
  return { ...reply, rate };
}
