import { Router, type Request, type Response } from 'express';
import type { Accounts } from '../accounts/manage.js';
import type { TopUps } from '../accounts/top-up.js';
import { toCsv } from '../accounts/usage/csv.js';
import {
  USAGE_DIMENSIONS,
  type UsageDimension,
  type UsageReport,
} from '../accounts/usage/report.js';
import type { Clock } from '../domain/ports.js';
import { isRefusal, refuse, type Refusal } from '../domain/refusal.js';
import { parseUsd } from '../domain/units.js';
import { readJsonBody, type BodyLimits } from '../http/body.js';
import { sendJson, sendRefusal } from '../http/error-reply.js';
import { requestIdOf } from '../http/request-id.js';
import type { Caller } from '../keys/caller.js';
import { rateHeaders } from '../limits/admission.js';
import type { Limits } from '../limits/limits.js';
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
    sendObject(response, {
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

interface UsageQuery {
  readonly from: Date;
  readonly to: Date;
  readonly by: UsageDimension;
  readonly isCsv: boolean;
}

function showUsage({ usage, clock }: AccountRouteParts): KeyedHandler {
  return async ({ account }, request, response) => {
    const query = readUsageQuery(request.query, clock.now());
    if (isRefusal(query)) {
      sendRefusal(response, query, requestIdOf(response));
      return;
    }
    const { from, to, by } = query;
    const rows = await usage.read(account.id, query, by);
    if (query.isCsv) {
      const lines = rows.map((row) => [row.name, row.searches, row.refused, row.credits]);
      const csv = toCsv([[by, 'searches', 'refused', 'credits'], ...lines]);
      response.setHeader('Content-Disposition', `attachment; filename="usage-by-${by}.csv"`);
      response.type('text/csv; charset=utf-8').send(csv);
      return;
    }
    sendObject(response, { from: from.toISOString(), to: to.toISOString(), by, usage: rows });
  };
}

/** `from` and `to` are ISO 8601 (30 days until now), `by` a dimension (day), `format` json or csv. */
function readUsageQuery(query: Request['query'], now: number): UsageQuery | Refusal {
  const unknown = Object.keys(query).find((name) => !['from', 'to', 'by', 'format'].includes(name));
  if (unknown !== undefined) {
    return refuse('unsupported_parameter', `The parameter "${unknown.slice(0, 60)}" is not known.`);
  }
  const { from, to, by = 'day', format = 'json' } = query;
  const end = to === undefined ? new Date(now) : readDate(to);
  const start = from === undefined ? end && new Date(end.getTime() - 30 * DAY_MS) : readDate(from);
  if (!start || !end || start >= end || end.getTime() - start.getTime() > RANGE_DAYS_MAX * DAY_MS) {
    return refuse(
      'invalid_parameter',
      `"from" and "to" must be dates (ISO 8601), in order and at most ${RANGE_DAYS_MAX} days apart.`,
    );
  }
  const dimension = USAGE_DIMENSIONS.find((name) => name === by);
  if (!dimension) {
    return refuse('invalid_parameter', `"by" must be one of ${USAGE_DIMENSIONS.join(', ')}.`);
  }
  if (format !== 'json' && format !== 'csv') {
    return refuse('invalid_parameter', '"format" must be json or csv.');
  }
  return { from: start, to: end, by: dimension, isCsv: format === 'csv' };
}

function readDate(text: unknown): Date | undefined {
  if (typeof text !== 'string' || !/^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+Z)?$/.test(text)) {
    return undefined;
  }
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? undefined : date;
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
    const amountUsd = isRefusal(body) ? body : readAmount(body.value);
    const order =
      typeof amountUsd === 'string' ? topUps.order(account.id, parseUsd(amountUsd)) : amountUsd;
    await replyToTopUp(topUps, order, request, response);
  };
}

function readAmount(body: unknown): string | Refusal {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return refuse('invalid_parameter', 'The body must be an object with "amountUsd".');
  }
  const unknown = Object.keys(body).find((name) => name !== 'amountUsd');
  if (unknown !== undefined) {
    return refuse('unsupported_parameter', `The parameter "${unknown.slice(0, 60)}" is not known.`);
  }
  const { amountUsd } = body as { amountUsd?: unknown };
  if (typeof amountUsd !== 'string') {
    return refuse('invalid_parameter', 'amountUsd must be a string of dollars, such as "5".');
  }
  return amountUsd;
}

const NO_TOP_UPS = refuse(
  'service_unavailable',
  'This server takes no payments for credits now. Ask its operator for credits.',
  { retryAfterSeconds: 60 },
);

function sendObject(response: Response, value: object): void {
  sendJson(response, 200, Buffer.from(JSON.stringify(value)));
}
