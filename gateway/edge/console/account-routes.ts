import { Router, type Request, type Response } from 'express';
import type { z } from 'zod';
import type { Accounts } from '../../customers/accounts/manage.js';
import type { TopUps } from '../../customers/credits/top-up.js';
import { toCsv } from '../../customers/usage/csv.js';
import type { UsageReport } from '../../customers/usage/report.js';
import {
  topUpRequestSchema,
  usageQuerySchema,
  type accountSchema,
  type usageSchema,
} from '../http/account-wire.js';
import type { Clock } from '../../ground/domain/ports.js';
import { parseParameters } from '../../ground/domain/parameters.js';
import { isRefusal, refuse, type Refusal } from '../../ground/domain/refusal.js';
import { parseUsd } from '../../ground/domain/units.js';
import { hangUpUnfinished, readJsonBody, type BodyLimits } from '../http/body.js';
import { createCors } from '../http/cors.js';
import { sendText } from '../http/encoding.js';
import { sendJson, sendRefusal } from '../http/error-reply.js';
import { requestIdOf } from '../http/request-id.js';
import type { Caller } from '../../customers/keys/caller.js';
import { rateHeaders } from '../../customers/limits/admission.js';
import type { Limits } from '../../customers/limits/limits.js';
import { methodNotAllowed } from './method-not-allowed.js';
import { replyToTopUp } from './top-up-reply.js';

interface AccountRouteParts {
  readonly clock: Clock;
  readonly accounts: Accounts;
  readonly usage: UsageReport;
  readonly limits: Limits;
  /** Absent where no payments are taken. */
  readonly topUps?: TopUps;
  readonly bodyLimits: BodyLimits;
  readonly authenticate: (authorization: string, address: string) => Promise<Caller | Refusal>;
}

/** What an account's scripts ask with a key: where it stands, what it used, and more credits. */
export function accountRoutes(parts: AccountRouteParts): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all(['/account', '/account/usage'], createCors('GET'));
  router.all('/account/credits', createCors('POST'));
  router.get('/account', withCaller(parts, showAccount(parts)));
  router.all('/account', methodNotAllowed('GET'));
  router.get('/account/usage', withCaller(parts, showUsage(parts)));
  router.all('/account/usage', methodNotAllowed('GET'));
  router.post('/account/credits', withCaller(parts, addCredits(parts)));
  router.all('/account/credits', methodNotAllowed('POST'));
  return router;
}

type KeyedHandler = (caller: Caller, request: Request, response: Response) => Promise<void>;

/** Who asks, and may they now; the same answers as for a search. */
function withCaller({ authenticate, limits }: AccountRouteParts, handler: KeyedHandler) {
  return async (request: Request, response: Response) => {
    const address = request.ip ?? '';
    const caller = await authenticate(request.headers.authorization ?? '', address);
    if (isRefusal(caller)) {
      sendRefusal(response, caller, requestIdOf(response));
      return;
    }
    const admission = await limits.admit(caller);
    response.setHeaders(new Map(Object.entries(rateHeaders(admission))));
    if (admission.kind === 'limited') {
      sendRefusal(response, admission.refusal, requestIdOf(response));
      return;
    }
    response.setHeader('Cache-Control', 'no-store');
    await handler(caller, request, response);
  };
}

function showAccount({ accounts }: AccountRouteParts): KeyedHandler {
  return async ({ account: { id }, key }, _request, response) => {
    const account = await accounts.read(id);
    if (!account) throw new Error('a key without an account');
    const { name, plan, ratePerSecond, credits } = account;
    send<typeof accountSchema>(response, {
      account: { id, name, plan, ratePerSecond },
      credits,
      key: {
        id: key.id,
        name: key.name,
        ratePerSecond: key.ratePerSecond,
        monthlyBudget: key.monthlyBudget,
        expiresAt: key.expiresAt === null ? null : new Date(key.expiresAt).toISOString(),
      },
    });
  };
}

const DAY_MS = 24 * 3600 * 1000;
const RANGE_DAYS_MAX = 400;

function showUsage({ usage, clock }: AccountRouteParts): KeyedHandler {
  return async ({ account }, request, response) => {
    const query = readUsageQuery(request.query, clock.now());
    if (isRefusal(query)) {
      sendRefusal(response, query, requestIdOf(response));
      return;
    }
    const { from, to, by } = query;
    const rows = await usage.read(account.id, query, by);
    if (query.format === 'csv') {
      const lines = rows.map((row) => [row.name, row.searches, row.refused, row.credits]);
      const csv = toCsv([[by, 'searches', 'refused', 'credits'], ...lines]);
      response.setHeader('Content-Disposition', `attachment; filename="usage-by-${by}.csv"`);
      response.type('text/csv; charset=utf-8');
      sendText(response, Buffer.from(csv));
      return;
    }
    const [start, end] = [from.toISOString(), to.toISOString()];
    send<typeof usageSchema>(response, { from: start, to: end, by, usage: rows });
  };
}

/** The query with its times as dates: until now, and from 30 days before, where they are not said. */
function readUsageQuery(query: Request['query'], now: number) {
  const read = parseParameters(usageQuerySchema, query);
  if (isRefusal(read)) return read;
  const { from, to, ...rest } = read.parameters;
  const end = to === undefined ? new Date(now) : new Date(to);
  const start = from === undefined ? new Date(end.getTime() - 30 * DAY_MS) : new Date(from);
  const rangeMs = end.getTime() - start.getTime();
  if (!(rangeMs > 0 && rangeMs <= RANGE_DAYS_MAX * DAY_MS)) {
    return refuse(
      'invalid_parameter',
      `"from" and "to" must be dates (ISO 8601), in order and at most ${RANGE_DAYS_MAX} days apart.`,
    );
  }
  return { kind: 'query', from: start, to: end, ...rest } as const;
}

/**
 * `POST /account/credits` with `{"amountUsd":"5"}`: a 402 with a challenge for that amount, then
 * the same request with its payment. The credits are there when the 200 is.
 */
function addCredits({ topUps, bodyLimits }: AccountRouteParts): KeyedHandler {
  return async ({ account }, request, response) => {
    if (!topUps) {
      sendRefusal(response, NO_TOP_UPS, requestIdOf(response));
      return;
    }
    const body = await readJsonBody(request, bodyLimits);
    if (isRefusal(body)) hangUpUnfinished(request, response);
    const read = isRefusal(body) ? body : parseParameters(topUpRequestSchema, body.value);
    const order = isRefusal(read)
      ? read
      : topUps.order(account.id, parseUsd(read.parameters.amountUsd));
    await replyToTopUp(topUps, order, request, response);
  };
}

const NO_TOP_UPS = refuse(
  'service_unavailable',
  'This server doesn’t sell credits right now. Ask its operator for credits.',
  { retryAfterSeconds: 60 },
);

function send<Schema extends z.ZodType>(response: Response, value: z.output<Schema>): void {
  sendJson(response, 200, Buffer.from(JSON.stringify(value)));
}
