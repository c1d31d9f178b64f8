import { z } from 'zod';
import { parseBytes32, type TransactionHash } from '../../ground/domain/units.js';
import type { SignedAuthorization } from '../payment/authorization.js';
import { network, requirements, type PaymentTerms } from '../x402/terms.js';

export interface FacilitatorSettings {
  /** Where `/verify`, `/settle` and `/supported` are; only ever set by the operator. */
  readonly url: string;
  /** Sent as a bearer token, where the facilitator wants one. Never logged. */
  readonly token?: string;
  /** Milliseconds for one answer: a settlement is answered when its transaction is in a block. */
  readonly timeoutMs: number;
  /** Chain, token domain and window of the payments. */
  readonly terms: Pick<PaymentTerms, 'chainId' | 'domain' | 'maxTimeoutSeconds'>;
}

/** What a facilitator says of a settlement. Nothing is believed that the chain does not show. */
export type SettleAnswer =
  /** It names the transaction that moved the money. */
  | { readonly kind: 'settled'; readonly transaction: TransactionHash }
  /** A transaction may be on its way: it says so, or it names one, even where it speaks of failure. */
  | { readonly kind: 'pending'; readonly transaction?: TransactionHash }
  /** It has not settled, for this reason, and names no transaction. */
  | { readonly kind: 'refused'; readonly reason: string };

/** A facilitator behind HTTP (x402 specification version 2, section 7). */
export interface Facilitator {
  /** Its host, for people. */
  readonly name: string;
  /** Whether it settles scheme `exact` of version 2 on this chain. @throws FacilitatorSilent */
  isSuitable(): Promise<boolean>;
  /** Why it would not settle this authorization now, if so. @throws FacilitatorSilent */
  objection(authorization: SignedAuthorization): Promise<string | undefined>;
  /** @throws FacilitatorSilent: then whether it settles is not known. */
  settle(authorization: SignedAuthorization): Promise<SettleAnswer>;
}

/** There was no answer, or none that can be read; the message holds nothing that was sent. */
export class FacilitatorSilent extends Error {
  override readonly name = 'FacilitatorSilent';
}

const ANSWER_BYTES_MAX = 64 * 1024;
/** Milliseconds for answers for which nothing has to be mined. */
const QUICK_MS = 5_000;

const reason = z
  .string()
  .regex(/^[\w .:-]{1,128}$/)
  .optional()
  .catch(undefined);
const hash = z
  .string()
  .transform((text): TransactionHash | undefined => parseBytes32(text))
  .optional()
  .catch(undefined);
const verifySchema = z.object({ isValid: z.boolean(), invalidReason: reason });
const settleSchema = z.object({ success: z.boolean(), errorReason: reason, transaction: hash });
const supportedSchema = z.object({
  kinds: z.array(z.object({ x402Version: z.number(), scheme: z.string(), network: z.string() })),
});

export function createFacilitator(settings: FacilitatorSettings): Facilitator {
  const { terms, timeoutMs } = settings;
  const ask = createAsk(settings);
  const quickMs = Math.min(QUICK_MS, timeoutMs);
  return {
    name: new URL(settings.url).host,
    isSuitable: async () => {
      const { kinds } = await ask('supported', undefined, supportedSchema, quickMs);
      return kinds.some(
        (kind) =>
          kind.x402Version === 2 &&
          kind.scheme === 'exact' &&
          [network(terms.chainId), 'eip155:*'].includes(kind.network),
      );
    },
    objection: async (authorization) => {
      const body = requestOf(authorization, terms);
      const answer = await ask('verify', body, verifySchema, quickMs);
      return answer.isValid ? undefined : (answer.invalidReason ?? 'unexpected_verify_error');
    },
    settle: async (authorization) => {
      const body = requestOf(authorization, terms);
      const { success, errorReason, transaction } = await ask(
        'settle',
        body,
        settleSchema,
        timeoutMs,
      );
      if (success && transaction) return { kind: 'settled', transaction };
      if (success) throw new FacilitatorSilent('settle: success without a transaction');
      // A transaction that has a name may be in a block yet, whatever is said about it.
      if (transaction) return { kind: 'pending', transaction };
      if (errorReason === PENDING) return { kind: 'pending' };
      return { kind: 'refused', reason: errorReason ?? 'unexpected_settle_error' };
    },
  };
}

/** The reference facilitator's word for a transaction without a receipt. */
const PENDING = 'settlement_pending';

/**
 * One request and its answer, parsed. An answer of the right shape counts with any HTTP status:
 * facilitators differ in what they send beside a refusal.
 */
function createAsk({ url, token }: FacilitatorSettings) {
  const base = url.replace(/\/+$/, '');
  return async <T>(
    operation: 'verify' | 'settle' | 'supported',
    body: object | undefined,
    schema: z.ZodType<T>,
    withinMs: number,
  ): Promise<T> => {
    const fail = (why: string) => new FacilitatorSilent(`${operation}: ${why}`);
    const { status, text } = await fetch(`${base}/${operation}`, {
      method: body ? 'POST' : 'GET',
      // A redirect would carry the token and a signed authorization to somebody else.
      redirect: 'error',
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(withinMs),
    })
      .then(async (response) => ({ status: response.status, text: await readText(response) }))
      .catch((error: unknown) => {
        const isLate = error instanceof Error && error.name === 'TimeoutError';
        throw fail(isLate ? `no answer within ${withinMs} ms` : 'no connection, or it broke');
      });
    const answer = text === undefined ? undefined : schema.safeParse(parseJson(text)).data;
    if (answer === undefined) throw fail(`HTTP status ${status} without a readable answer`);
    return answer;
  };
}

/** The body; undefined when it is longer than any answer of a facilitator. */
async function readText(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > ANSWER_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The request for an authorization, rebuilt from the books: the same for a payment of version 1,
 * since what is signed is the same.
 */
function requestOf(authorization: SignedAuthorization, terms: FacilitatorSettings['terms']) {
  const { asset, from, to, value, validAfter, validBefore, nonce, signature } = authorization;
  const paymentRequirements = requirements({ ...terms, asset, payTo: to, amount: value });
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      accepted: paymentRequirements,
      payload: {
        signature,
        authorization: {
          from,
          to,
          value: value.toString(),
          validAfter: validAfter.toString(),
          validBefore: validBefore.toString(),
          nonce,
        },
      },
    },
    paymentRequirements,
  };
}
