import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';

/** Ed25519 as PKCS #8 (RFC 8410, section 7): what comes before the 32 bytes of the seed. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The key that signs offers and receipts, and the document that says whose it is. */
export interface ReceiptKey {
  /** Signs a payload as JSON Web Signature in compact form (RFC 7515, RFC 8037: `EdDSA`). */
  sign(payload: object): string;
  /** The service's DID document (did:web), which names the key as one that may sign for it. */
  readonly document: Readonly<Record<string, unknown>>;
}

const base64url = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64url');

/**
 * A key from 32 secret bytes, in the name of the service at this address.
 * @param publicUrl what receipts call the service; its DID is did:web of the host.
 */
export function receiptKey(seed: Uint8Array, publicUrl: string): ReceiptKey {
  const pkcs8 = Buffer.concat([PKCS8_PREFIX, seed]);
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  const jwk = { crv: 'Ed25519', kty: 'OKP', x };
  // RFC 7638: the members in this order, without spaces.
  const thumbprint = base64url(createHash('sha256').update(JSON.stringify(jwk)).digest());
  const did = `did:web:${new URL(publicUrl).host.replaceAll(':', '%3A')}`;
  const kid = `${did}#${thumbprint}`;
  const header = base64url(JSON.stringify({ alg: 'EdDSA', kid, jwk }));
  return {
    sign(payload) {
      const signed = `${header}.${base64url(JSON.stringify(payload))}`;
      return `${signed}.${base64url(sign(null, Buffer.from(signed), key))}`;
    },
    document: {
      '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
      id: did,
      verificationMethod: [{ id: kid, type: 'JsonWebKey2020', controller: did, publicKeyJwk: jwk }],
      assertionMethod: [kid],
    },
  };
}
