import type { Server, Socket } from 'node:net';
import { countedNames } from '../../customers/limits/address.js';

/** The part of all connections that one IPv4 address or /64 may hold open. */
const ADDRESS_PART = 1 / 5;
/** The last part is kept for those who hold few. */
const RESERVE_PART = 1 / 5;
/** Connections that still count as few. */
const FEW = 8;

/**
 * Drops connections before they cost anything: of an address, or an IPv6 prefix, that holds its
 * part of all connections already, and, when only the reserve is left, of everyone who holds more
 * than a few. So no address, and no handful of them, takes the port from the others.
 *
 * Called before the HTTP server sees a connection. Behind proxies every connection is a proxy's:
 * there, only the total counts.
 *
 * @param max open connections of the server at the most; further ones are dropped by the system.
 */
export function limitConnections(server: Server, max: number, trustedProxies: number): void {
  server.maxConnections = max;
  if (trustedProxies > 0) return;
  const open = new Map<string, number>();
  let total = 0;
  const change = (name: string, by: 1 | -1) => {
    const count = (open.get(name) ?? 0) + by;
    if (count > 0) open.set(name, count);
    else open.delete(name);
  };
  server.prependListener('connection', (socket: Socket) => {
    const names = countedNames(socket.remoteAddress ?? 'unknown');
    const isScarce = total >= max * (1 - RESERVE_PART);
    const isOver = names.some(({ name, share }) => {
      const own = max * ADDRESS_PART * share;
      return (open.get(name) ?? 0) >= (isScarce ? Math.min(FEW * share, own) : own);
    });
    if (isOver) {
      socket.destroy();
      return;
    }
    total += 1;
    for (const { name } of names) change(name, 1);
    socket.once('close', () => {
      total -= 1;
      for (const { name } of names) change(name, -1);
    });
  });
}
