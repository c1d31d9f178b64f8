/**
 * Base64 of JSON, as the three payment headers carry it (x402 HTTP transport, version 2).
 * Encoding is plain. Decoding accepts exactly one spelling of each byte string (RFC 4648,
 * sections 3.2, 3.3 and 3.5): Node's own decoder skips foreign characters, reads the URL alphabet,
 * stops at padding and ignores stray bits, so that one payment would have many spellings.
 */
const ALPHABET = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Base64 (with padding) of the UTF-8 JSON of `value`. */
export function encodeJson(value: object): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64');
}

/** The text inside canonical base64, or undefined for any other spelling and for bad UTF-8. */
export function decodeCanonicalBase64(encoded: string): string | undefined {
  if (encoded === '' || !ALPHABET.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) return undefined;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
