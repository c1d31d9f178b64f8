import type { ServerResponse } from 'node:http';

/** Replies to those who pay: with a key, an account, or a payment that has settled. */
const paid = new WeakSet<ServerResponse>();

/** Says that the work behind this reply is paid for, so that it is not billed to the address. */
export function markPaid(response: ServerResponse): void {
  paid.add(response);
}

export function isPaid(response: ServerResponse): boolean {
  return paid.has(response);
}
