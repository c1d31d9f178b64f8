import type { SearchOutcome } from './call.js';
import { ProtocolError, type PaymentView } from './errors.js';
import { isObject } from './payment/base64.js';
import type { Answer } from './transport.js';

/** Which pack to buy. */
export interface PackParams {
  /** Searches in it; by default the first size that the service sells. */
  readonly searches?: number | undefined;
}

/** Searches that were paid ahead, and the key that spends them. */
export interface Pack {
  readonly id: string;
  /** An API key for this service. Whoever has it can spend the searches. */
  readonly key: string;
  readonly searches: number;
  readonly amountUsd: string;
  /** ISO 8601: when the key ends. */
  readonly expiresAt: string;
  readonly requestId: string;
  /** Absent where the service asked for no payment. */
  readonly payment?: PaymentView;
}

type PackReply = Omit<Pack, 'payment'>;

/** Where packs are sold by the service whose searches are at this URL. */
export function packsUrlOf(searchUrl: string): string {
  return searchUrl.replace(/\/search$/, '/packs');
}

/** @throws {ProtocolError} when a 200 does not hold a key and its pack */
export function readPack({ text }: Answer): PackReply {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  if (isObject(body) && isObject(body.pack)) {
    const { requestId, key } = body;
    const { id, searches, amountUsd, expiresAt } = body.pack;
    const pack = { id, key, searches, amountUsd, expiresAt, requestId };
    const { searches: count, ...texts } = pack;
    if (typeof count === 'number' && Object.values(texts).every((one) => typeof one === 'string'))
      return pack as PackReply;
  }
  throw new ProtocolError('the reply has status 200 but is not a pack');
}

/** A pack with what was paid for it. */
export function packOf({ data, payment }: SearchOutcome<PackReply>): Pack {
  return { ...data, ...(payment && { payment }) };
}
