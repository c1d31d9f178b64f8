import express, { Router, type ErrorRequestHandler } from 'express';
import { createGuard, sameOrigin, secure } from './guard.js';
import { html } from './html.js';
import { sendPage } from './page.js';
import { billingPages } from './pages/billing.js';
import { connectPage } from './pages/connect.js';
import { enterPages } from './pages/enter.js';
import { homePage } from './pages/home.js';
import { keyPages } from './pages/keys.js';
import { mailSentPage } from './pages/mail-sent.js';
import { operatorPage } from './pages/operator.js';
import { operatorAccountPages } from './pages/operator-account.js';
import { operatorWatchPage } from './pages/operator-watch.js';
import { partsPage } from './pages/parts-page.js';
import { playgroundPage } from './pages/playground.js';
import { profilePages } from './pages/profile.js';
import { requestPages } from './pages/requests.js';
import { signUpPages } from './pages/sign-up.js';
import { startPages } from './pages/start.js';
import { teamPages } from './pages/team.js';
import { usagePages } from './pages/usage.js';
import { walletPages } from './pages/wallets.js';
import type { ConsoleParts } from './parts.js';

const FORM_BYTES_MAX = '16kb';
const FORM_FIELDS_MAX = 20;

/** The web console, to be mounted at `/console`. Pages are made on the server; few need a script. */
export function consoleRouter(parts: ConsoleParts): Router {
  const router = Router({ caseSensitive: true });
  const guard = createGuard(parts.people, parts.team, parts.operatorEmails);
  router.use(secure);
  router.use(sameOrigin);
  router.use(parts.saying);
  router.use(
    express.urlencoded({
      extended: false,
      limit: FORM_BYTES_MAX,
      parameterLimit: FORM_FIELDS_MAX,
    }),
  );

  homePage(router, parts, guard);
  signUpPages(router, parts);
  mailSentPage(router, parts);
  enterPages(router, parts);
  startPages(router, parts, guard);
  keyPages(router, parts, guard);
  usagePages(router, parts, guard);
  requestPages(router, parts, guard);
  playgroundPage(router, parts, guard);
  connectPage(router, parts, guard);
  billingPages(router, parts, guard);
  teamPages(router, parts, guard);
  profilePages(router, parts, guard);
  walletPages(router, parts, guard);
  partsPage(router, parts, guard);
  operatorPage(router, parts, guard);
  operatorAccountPages(router, parts, guard);
  operatorWatchPage(router, parts, guard);

  router.use((_request, response) => {
    sendPage(response, {
      title: 'Not found',
      status: 404,
      body: html`<p>This page doesn’t exist. <a href="/console">Go to the console.</a></p>`,
    });
  });
  router.use(handleBadForm);
  return router;
}

/** A form that is too long or not well-formed; anything else is a bug and goes on to the edge. */
const handleBadForm: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  const status = (error as { status?: unknown }).status;
  if (typeof status !== 'number' || status < 400 || status >= 500) {
    next(error);
    return;
  }
  sendPage(response, {
    title: 'Invalid form',
    status,
    body: html`<p>Some fields are missing or invalid.</p>`,
  });
};
