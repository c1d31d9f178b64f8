import { z } from 'zod';
import { httpUrl, integer, wholeNumber, words } from '../ground/setting-kinds.js';

/** Settings of the doors: addresses, proxies, and limits of what comes in. */
export const EDGE_SETTINGS = {
  /** Address to listen on. */
  HOST: z.string().default('127.0.0.1'),
  /** Port of the gateway: keys or payments. */
  PORT: integer(0, 65_535, 4020),
  /** Port of the API: keys only. */
  API_PORT: integer(0, 65_535, 4021),
  /** Port of the faces, which speak other search services' languages; closed unless set. */
  FACES_PORT: wholeNumber(0, 65_535).optional(),
  /** Port of the operator's face: metrics and health; always on loopback unless OPS_HOST says. */
  OPS_PORT: integer(0, 65_535, 4022),
  OPS_HOST: z.string().default('127.0.0.1'),
  /** The gateway's public address; it is the `resource` of every quote. */
  PUBLIC_URL: httpUrl.optional(),
  /** The API's public address, where tool clients sign in: its `/mcp` is what tokens are for. */
  API_PUBLIC_URL: httpUrl.optional(),
  /** Hosts whose web pages may call `/mcp`, comma-separated; those of the service always may. */
  MCP_ORIGIN_HOSTS: words,
  /** Proxies in front whose X-Forwarded-For is believed. */
  TRUSTED_PROXIES: integer(0, 10, 0),
  /** Bytes of a request body. */
  BODY_BYTES_MAX: integer(1024, 1_048_576, 16_384),
  /** Milliseconds until a request body must have come. */
  BODY_TIMEOUT_MS: integer(100, 60_000, 10_000),
  /** Open connections of each face. */
  CONNECTIONS_MAX: integer(10, 100_000, 5000),
  /** Milliseconds for which an idle connection is kept: longer than proxies in front keep theirs. */
  KEEP_ALIVE_MS: integer(1000, 600_000, 65_000),
  /** Milliseconds between "not ready" and the closed door at shutdown. Unless set, 5,000, and none
   * on the development chain, where no balancer is in front. */
  DRAIN_DELAY_MS: wholeNumber(0, 120_000).optional(),
  /** Milliseconds that running requests and payments get then. */
  DRAIN_TIMEOUT_MS: integer(0, 300_000, 25_000),
} as const;
