import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { People, Session, Visitor } from '../../customers/people/people.js';
import type { Team } from '../../customers/people/team.js';
import type { Clock } from '../../ground/domain/ports.js';
import { addressName } from '../../customers/limits/address.js';
import { Windows } from '../../customers/limits/windows.js';
import { markPaid } from '../http/paid.js';
import { cookieOf } from './cookies.js';
import { html } from './html.js';
import { sendPage, type Viewer } from './page.js';
import { parseUrl } from '../../../network/parse-url.js';

/**
 * Nothing from elsewhere, nothing inline, no frames around it, no forms to elsewhere.
 *
 * @param origins of this service that the page's script may ask besides its own.
 */
export function pagePolicy(origins: readonly string[] = []): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    ["connect-src 'self'", ...origins].join(' '),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

const POLICY = pagePolicy();

export const secure: RequestHandler = (_request, response, next) => {
  response.setHeader('Content-Security-Policy', POLICY);
  response.setHeader('Referrer-Policy', 'same-origin');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
  response.setHeader('Cache-Control', 'no-store');
  next();
};

/**
 * Lets a request that changes something through only when the browser says that a page of this
 * very origin sent it (Origin, RFC 6454; Sec-Fetch-Site where a browser leaves Origin out).
 * The cookie's SameSite=Lax is the second lock on the same door.
 */
export const sameOrigin: RequestHandler = (request, response, next) => {
  if (request.method === 'GET' || request.method === 'HEAD' || isSameOrigin(request)) {
    next();
    return;
  }
  sendPage(response, {
    title: 'Request blocked',
    status: 403,
    body: html`<p>This request didn’t come from the console, so nothing was changed.</p>`,
  });
};

function isSameOrigin({ headers }: Request): boolean {
  const { origin, host } = headers;
  if (origin === undefined) return headers['sec-fetch-site'] === 'same-origin';
  return host !== undefined && parseUrl(origin)?.host === host;
}

export function visitorOf(request: Request): Visitor {
  const { cookie } = request.headers;
  return { cookie, userAgent: request.headers['user-agent'], address: request.ip ?? '' };
}

export const ACCOUNT_COOKIE = 'search402_account';

type ViewerHandler = (viewer: Viewer, request: Request, response: Response) => Promise<void>;

/** Makes handlers that only a signed-in person of an account reaches, or only its Admins. */
export interface Guard {
  /** A signed-in person who may be in no account. */
  person(
    handler: (session: Session, request: Request, response: Response) => Promise<void>,
  ): RequestHandler;
  signedIn(handler: ViewerHandler): RequestHandler;
  admin(handler: ViewerHandler): RequestHandler;
  operator(handler: ViewerHandler): RequestHandler;
}

export function createGuard(people: People, team: Team, operatorEmails: readonly string[]): Guard {
  const operators = new Set(operatorEmails.map((email) => email.toLowerCase()));

  const viewerOf = async (request: Request): Promise<Viewer | 'nobody' | 'no-account'> => {
    const session = await people.session(visitorOf(request));
    if (!session) return 'nobody';
    const memberships = await team.memberships(session.person.id);
    const chosen = cookieOf(request, ACCOUNT_COOKIE);
    const membership = memberships.find(({ accountId }) => accountId === chosen) ?? memberships[0];
    if (!membership) return 'no-account';
    const isOperator = operators.has(session.person.email.toLowerCase());
    return { session, membership, memberships, isOperator };
  };

  const guarded =
    (allows: (viewer: Viewer) => boolean, handler: ViewerHandler): RequestHandler =>
    async (request, response) => {
      const viewer = await viewerOf(request);
      if (viewer === 'nobody') {
        turnAway(request, response);
        return;
      }
      if (viewer === 'no-account') {
        sayNoAccount(request, response);
        return;
      }
      if (!allows(viewer)) {
        sayForbidden(viewer, response);
        return;
      }
      markPaid(response);
      await handler(viewer, request, response);
    };

  return {
    person: (handler) => async (request, response) => {
      const session = await people.session(visitorOf(request));
      if (session) await handler(session, request, response);
      else turnAway(request, response);
    },
    signedIn: (handler) => guarded(() => true, handler),
    admin: (handler) => guarded(({ membership }) => membership.role === 'admin', handler),
    operator: (handler) => guarded(({ isOperator }) => isOperator, handler),
  };
}

/** Whoever is not signed in is led to the sign-in page; a form sent without a session is a 401. */
function turnAway(request: Request, response: Response): void {
  if (request.method === 'GET' || request.method === 'HEAD') {
    const to = request.originalUrl.startsWith('/console/') ? request.originalUrl : '/console';
    response.redirect(303, `/console/sign-in?to=${encodeURIComponent(to)}`);
    return;
  }
  sendPage(response, {
    title: 'Signed out',
    status: 401,
    body: html`<p>
      Your session has ended. Nothing was changed. <a href="/console/sign-in">Sign in again.</a>
    </p>`,
  });
}

/** Whoever is in no account is led to where they can join or create one. */
function sayNoAccount(request: Request, response: Response): void {
  if (request.method === 'GET' || request.method === 'HEAD') {
    response.redirect(303, '/console/start');
    return;
  }
  sendPage(response, {
    title: 'You’re not in any account yet',
    status: 403,
    body: html`<p>Nothing was changed. <a href="/console/start">Join or create an account.</a></p>`,
  });
}

function sayForbidden(viewer: Viewer, response: Response): void {
  sendPage(response, {
    title: 'Admins only',
    status: 403,
    viewer,
    body: html`<p>Ask an admin of ${viewer.membership.accountName} for help.</p>`,
  });
}

export function sayNotFound(viewer: Viewer, response: Response): void {
  sendPage(response, {
    title: 'Not found',
    status: 404,
    viewer,
    body: html`<p>This page doesn’t exist, or it isn’t in your account.</p>`,
  });
}

const TRIES = { perAddress: 30, perPair: 10, windowMs: 60_000, namesMax: 20_000 } as const;

/**
 * Bounds how often passwords are tried and mails are asked for: per minute, by network address, and
 * by network address and e-mail address together. Not by e-mail address alone: strangers could
 * then lock its owner out (docs/decisions/sign-in-tries.md).
 */
export function boundedTries(clock: Clock): RequestHandler {
  const tries = new Windows(TRIES.windowMs, TRIES.namesMax);
  return (request: Request, response: Response, next: NextFunction) => {
    const { email } = (request.body ?? {}) as { email?: unknown };
    const nowMs = clock.monotonicMs();
    const from = addressName(request.ip ?? '');
    const windows = [tries.get(from, TRIES.perAddress)];
    if (typeof email === 'string') {
      windows.push(tries.get(`${from} ${email.toLowerCase().slice(0, 320)}`, TRIES.perPair));
    }
    const waitMs = Math.max(...windows.map((window) => window.waitMs(nowMs)));
    if (waitMs > 0) {
      response.setHeader('Retry-After', String(Math.ceil(waitMs / 1000)));
      sendPage(response, {
        title: 'Too many attempts',
        status: 429,
        body: html`<p>Wait ${Math.ceil(waitMs / 1000)} seconds and try again.</p>`,
      });
      return;
    }
    for (const window of windows) window.take(nowMs);
    next();
  };
}
