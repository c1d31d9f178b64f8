import type { Request, Response } from 'express';
import { answerPreflight } from '../http/cors.js';
import { parseUrl } from '../../../network/parse-url.js';

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

const EXPOSED = 'WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version, Retry-After';

/**
 * Answers what a foreign web page sends with 403, as the protocol asks of servers: a page whose
 * name resolves to this machine could otherwise use what only this machine may reach. Pages of
 * allowed hosts get their CORS headers, and their preflights an answer. Returns true when answered.
 */
export function refuseOrigin(
  request: Request,
  response: Response,
  originHosts: readonly string[],
): boolean {
  const { origin } = request.headers;
  if (origin === undefined) return false;
  const host = parseUrl(origin)?.hostname;
  if (host === undefined || !(LOCAL_HOSTS.includes(host) || originHosts.includes(host))) {
    const error = {
      code: -32_000,
      message: 'Web pages from this origin aren’t allowed to call this server.',
    };
    response.status(403).json({ jsonrpc: '2.0', id: null, error });
    return true;
  }
  response.setHeader('Access-Control-Allow-Origin', origin);
  response.setHeader('Access-Control-Expose-Headers', EXPOSED);
  response.vary('Origin');
  if (request.method !== 'OPTIONS') return false;
  answerPreflight(request, response, 'POST');
  return true;
}
