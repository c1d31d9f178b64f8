import type { IncomingMessage } from 'node:http';

/**
 * The network address of whoever sent a request: that of the connection, or what the outermost of
 * so many trusted proxies wrote into X-Forwarded-For. As Express tells it, for those that look
 * before Express does.
 */
export function clientAddress(request: IncomingMessage, trustedProxies: number): string {
  const own = request.socket.remoteAddress ?? 'unknown';
  if (trustedProxies === 0) return own;
  const header = request.headers['x-forwarded-for'];
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  const hops = text.split(',').map((part) => part.trim());
  const path = [own, ...hops.filter((hop) => hop !== '').reverse()];
  return path[Math.min(trustedProxies, path.length - 1)] ?? own;
}
