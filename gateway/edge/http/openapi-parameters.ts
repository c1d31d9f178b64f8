/** The parameters of the OpenAPI document that its operations refer to. */
import type { Json } from './openapi-schemas.js';

/** The one header of a payment; who sends a key for a search must not send it. */
const PAYMENT_SIGNATURE: Json = {
  name: 'PAYMENT-SIGNATURE',
  in: 'header',
  required: false,
  description:
    'x402 version 2: base64 of the JSON payment, an EIP-3009 authorization over exactly the ' +
    'quoted amount. After a 503 send the same value again, never a new one.',
  schema: { type: 'string' },
};

const PAYMENT_V1: Json = {
  name: 'X-PAYMENT',
  in: 'header',
  required: false,
  deprecated: true,
  description:
    'x402 version 1: base64 of the JSON payment. Looked at only where the operator has turned ' +
    'version 1 on; any other service answers as if there were no payment.',
  schema: { type: 'string' },
};

const PAYMENT_PROOF: Json = {
  name: 'PAYMENT-PROOF',
  in: 'header',
  required: true,
  description:
    'base64 of the JSON object `payer`, `nonce`, `issuedAt` (Unix seconds, at most five minutes ' +
    'off), `signature`: the payer’s EIP-712 signature (a contract’s by ERC-1271) over ' +
    '`PaymentStatusRequest(address payer,bytes32 nonce,uint256 issuedAt,string audience)` in the ' +
    'domain `search402`, version `1`, with the chain’s id. `audience` is the origin of this service.',
  schema: { type: 'string' },
};

const SIGN_IN_WITH_X: Json = {
  name: 'SIGN-IN-WITH-X',
  in: 'header',
  required: false,
  description:
    'base64 of the JSON proof of the x402 extension `sign-in-with-x`: what the challenge of the 402 ' +
    'says, with `address` and the wallet’s `signature` (EIP-191; a contract’s by ERC-1271) over ' +
    'its ERC-4361 message. Good once, for this path, within five minutes.',
  schema: { type: 'string' },
};

const PACK_ID: Json = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The id of the pack, as its purchase and `GET /packs` say it.',
  schema: { type: 'string', format: 'uuid' },
};

const PAYMENT_NONCE: Json = {
  name: 'nonce',
  in: 'path',
  required: true,
  description: 'The nonce of the EIP-3009 authorization.',
  schema: { type: 'string', pattern: '^0x[0-9a-fA-F]{64}$' },
};

const IDEMPOTENCY_KEY: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'With an API key: the same key for the same search again gets the same reply and costs ' +
    'nothing more, for 24 hours (fewer, where an account keeps more than 64 MiB of replies). ' +
    'A search that fails gives its key back. Payments need none.',
  schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
};

/** By the names that `parameter` refers to. */
export const PARAMETERS: Json = {
  PaymentSignature: PAYMENT_SIGNATURE,
  PaymentV1: PAYMENT_V1,
  PaymentProof: PAYMENT_PROOF,
  PaymentNonce: PAYMENT_NONCE,
  SignInWithX: SIGN_IN_WITH_X,
  PackId: PACK_ID,
  IdempotencyKey: IDEMPOTENCY_KEY,
};
