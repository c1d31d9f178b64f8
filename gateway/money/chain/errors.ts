/** The node understood the request and refused it (JSON-RPC 2.0, section 5.1). */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  constructor(
    readonly code: number,
    message: string,
    readonly data: unknown,
  ) {
    super(message);
  }
}

/** The node is asked too much: others should be asked instead. */
export function isOverload({ code, message }: RpcError): boolean {
  if (code === -32005 || code === 429) return true;
  return /limit exceeded|rate limit|too many requests|capacity exceeded/i.test(message);
}

/**
 * The trouble is this node's and not the request's, so another one may know better: overload, a
 * method that it does not offer, or a block that it does not have (yet, or any more).
 */
export function isOwnTrouble(error: RpcError): boolean {
  if (isOverload(error) || error.code === -32601 || error.code === -32603) return true;
  return /header not found|unknown block|block not found|missing trie node/i.test(error.message);
}

/** Why there is no answer that can be used. */
export type UnreachableKind =
  /** No connection, or it broke. */
  | 'connection'
  /** No whole answer within the deadline. */
  | 'timeout'
  /** An HTTP status other than 200. */
  | 'http'
  /** More bytes than ANSWER_BYTES_MAX. */
  | 'too-large'
  /** Not JSON, or not JSON-RPC. */
  | 'malformed'
  /** An answer that contradicts the question, the chain, or the other endpoints. */
  | 'lie'
  /** Two endpoints give different answers to a question on which money hangs. */
  | 'disagreement'
  /** No endpoint is to be asked now; nothing was sent. */
  | 'unavailable';

/** No answer that can be used. Messages name endpoints by number and host: addresses hold keys. */
export class ChainUnreachable extends Error {
  override readonly name = 'ChainUnreachable';
  constructor(
    readonly kind: UnreachableKind,
    message: string,
    /** Whole seconds, at least 1, after which it is worth asking again. */
    readonly retryAfterSeconds = 1,
  ) {
    super(message);
  }
}
