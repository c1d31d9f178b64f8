import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:http';
import express, { type Express } from 'express';
import type { SearchRequest, SearchResponse } from '../../search-core/contract.js';
import { isRefusal, refuse, type Refusal } from '../../gateway/ground/domain/refusal.js';
import { address, bytes32, usdcUnits } from '../../gateway/ground/domain/units.js';
import type { Caller } from '../../gateway/customers/keys/caller.js';
import { createMcpEndpoint } from '../../gateway/edge/mcp/endpoint.js';
import { mcpRoute, type McpRouteParts } from '../../gateway/edge/mcp/route.js';
import { createMcpWire } from '../../gateway/edge/mcp/wire.js';
import { limited } from '../../gateway/customers/limits/admission.js';
import type { Face } from '../../gateway/search/caller.js';
import { createKeyedSearch } from '../../gateway/search/keyed.js';
import { createSearch, type SearchParts } from '../../gateway/search/pipeline.js';
import { keptOpen } from '../../gateway/search/keeping.js';
import { callerOf } from './accounts.js';
import { freeAllowance } from './allowance.js';
import { realRandom, silentLog } from './ports.js';

export const GOOD_KEY = 'Bearer s402_live_good';
export const OFFER = {
  terms: {
    chainId: 8453,
    asset: address('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'),
    domain: { name: 'USD Coin', version: '2' },
    payTo: address('0x00000000000000000000000000000000000000aa'),
    amount: usdcUnits(50n),
    maxTimeoutSeconds: 300,
  },
  resource: { url: 'https://gateway.example/search' },
};

const RATE = { policy: 'test', limit: 1000, windowSeconds: 1, remaining: 999, resetSeconds: 1 };
const LIMITS = { bytesMax: 16_384, timeoutMs: 2000 };

export interface ServiceUnderTest {
  readonly server: Server;
  readonly url: string;
  /** Searches that ran, in order. */
  readonly searches: SearchRequest[];
  /** Payments that were taken, as they came. */
  readonly payments: string[];
  close(): Promise<void>;
}

export interface ServiceOptions {
  readonly face?: Face;
  /** Answers a search; by default one page that says what was asked. */
  readonly answer?: (request: SearchRequest) => Partial<SearchResponse['result']> | Refusal;
  readonly credits?: number;
  /** Whether every caller has used up its rate. */
  readonly isLimited?: boolean;
  /** Adds routes before `/mcp`; may hand back another way to check credentials. */
  readonly mount?: (app: Express, origin: string) => Promise<McpRouteParts['authenticate']>;
}

/** The tool protocol over a real pipeline, with fakes behind its ports. */
export async function startMcp(options: ServiceOptions = {}): Promise<ServiceUnderTest> {
  const { face = 'gateway' } = options;
  const searches: SearchRequest[] = [];
  const payments: string[] = [];
  const search = createSearch(fakeParts(options, searches, payments));
  const endpoint = createMcpEndpoint({
    search,
    random: realRandom,
    log: silentLog,
    version: '1.2.3',
    wire: createMcpWire(() => OFFER),
  });
  const app = express();
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const authenticate =
    (await options.mount?.(app, new URL(url).origin)) ??
    ((authorization: string) => Promise.resolve(authenticated(authorization)));
  const originHosts = ['pages.example'];
  app.all(
    '/mcp',
    mcpRoute({ endpoint, face, bodyLimits: LIMITS, resources: [url], originHosts, authenticate }),
  );
  const close = async () => {
    await endpoint.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { server, url, searches, payments, close };
}

export function authenticated(authorization: string): Caller | Refusal {
  if (authorization === '') return refuse('missing_api_key', 'No key.');
  return authorization === GOOD_KEY ? callerOf('a1') : refuse('invalid_api_key', 'Not a key.');
}

function fakeParts(
  { answer, credits = 1000, isLimited = false }: ServiceOptions,
  searches: SearchRequest[],
  payments: string[],
): SearchParts<{ value: string }> {
  let left = credits;
  const admission = isLimited
    ? limited(RATE, 1500, 'This account')
    : ({ kind: 'admitted', rate: RATE } as const);
  return {
    run: (request, { requestId }) => {
      searches.push(request);
      const made = answer?.(request) ?? {};
      if (isRefusal(made)) return Promise.resolve(made);
      const results = made.results ?? [page(request.query, 'A passage.')];
      const searchMetadata = { executionTime: 0.001 };
      const result = { results, searchMetadata, totalResults: results.length };
      const body = new TextEncoder().encode(JSON.stringify({ requestId, result }));
      return Promise.resolve({ kind: 'answer', body, resultCount: results.length });
    },
    keeping: keptOpen,
    meter: () => () => undefined,
    authenticate: (authorization) => Promise.resolve(authenticated(authorization)),
    admitCaller: () => Promise.resolve(admission),
    admitAddress: () => admission,
    chainAllowance: () => freeAllowance,
    readPayment: (_version, value) => ({ value }),
    searchOnCredits: createKeyedSearch(
      {
        hold: () =>
          Promise.resolve(
            left > 0 ? { left: left-- } : refuse('insufficient_credits', 'No credits are left.'),
          ),
        spend: () => Promise.resolve(),
        release: () => Promise.resolve(left++),
      },
      { chargesEmpty: true },
    ),
    async searchForPayment({ value }, { request, run, requestId }, signal) {
      payments.push(value);
      const done = await run(request, { requestId, signal });
      if (isRefusal(done)) return { kind: 'refused', requestId, refusal: done };
      const receipt = {
        chainId: 8453,
        transaction: bytes32(`0x${'ab'.repeat(32)}`),
        payer: address(`0x${'cd'.repeat(20)}`),
        amount: usdcUnits(50n),
      };
      return { kind: 'results', requestId, body: done.body, receipt };
    },
  };
}

export function page(title: string, description: string) {
  return { title, url: `https://pages.example/${encodeURIComponent(title)}`, description };
}
