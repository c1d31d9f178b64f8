import { createHmac, timingSafeEqual } from 'node:crypto';
import { unixSeconds, type UnixSeconds } from '../../ground/domain/units.js';
import { network, type PaymentTerms } from '../x402/terms.js';

/** A secret that all gateways of one installation share. */
interface QuoteKey {
  /** Tells keys apart while they are changed; says nothing about the secret. */
  readonly id: string;
  readonly secret: Uint8Array;
}

/** The terms that a quote holds fixed. */
type QuotedTerms = Pick<
  PaymentTerms,
  'chainId' | 'asset' | 'payTo' | 'amount' | 'maxTimeoutSeconds'
>;

/** Signs prices, so that any gateway of the installation honours them without asking a database. */
export interface Quotes {
  /** A quote for these terms, `extra.quote` on the wire. */
  sign(terms: QuotedTerms, expires: UnixSeconds): string;
  /** Until when these terms were quoted; undefined when this installation did not quote them. */
  verify(terms: QuotedTerms, quote: string): UnixSeconds | undefined;
}

const SECRET_BYTES_MIN = 32;
const FORM = /^([0-9a-f]{16})\.([1-9][0-9]{0,11})\.([A-Za-z0-9_-]{43})$/;

/** Makes a key of a shared secret. @throws RangeError for a secret of less than 32 bytes. */
export function quoteKey(secret: Uint8Array): QuoteKey {
  if (secret.length < SECRET_BYTES_MIN)
    throw new RangeError(`a quote secret needs at least ${SECRET_BYTES_MIN} bytes`);
  const id = createHmac('sha256', secret).update('search402 quote key id').digest('hex');
  return { id: id.slice(0, 16), secret };
}

/**
 * Quotes as `id.expires.mac`: the MAC is HMAC-SHA-256 (RFC 2104) over all that is quoted.
 * The first key signs; every key verifies, so that a new one can be put in front of the old one.
 */
export function createQuotes(keys: readonly [QuoteKey, ...QuoteKey[]]): Quotes {
  const [own] = keys;
  const byId = new Map(keys.map((key) => [key.id, key]));
  return {
    sign: (terms, expires) => `${own.id}.${expires}.${mac(own, terms, expires)}`,
    verify: (terms, quote) => {
      const [, id = '', expires = '', sent = ''] = FORM.exec(quote) ?? [];
      const key = byId.get(id);
      if (!key) return undefined;
      const until = unixSeconds(Number(expires));
      return isEqual(mac(key, terms, until), sent) ? until : undefined;
    },
  };
}

function mac(key: QuoteKey, terms: QuotedTerms, expires: UnixSeconds): string {
  const { chainId, asset, payTo, amount, maxTimeoutSeconds } = terms;
  const quoted = [
    'search402 quote',
    network(chainId),
    asset,
    payTo,
    amount,
    maxTimeoutSeconds,
    expires,
  ];
  return createHmac('sha256', key.secret).update(quoted.join('\n')).digest('base64url');
}

function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
