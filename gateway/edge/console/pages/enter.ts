import type { Response, Router } from 'express';
import type { Outcome } from '../../../customers/people/people.js';
import { inEvenTime } from '../even-time.js';
import { textOf } from '../form.js';
import { boundedTries, visitorOf } from '../guard.js';
import { html, type Html } from '../html.js';
import { notice, sendPage, time } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { sayAndGo } from '../said.js';
import { goToMail } from './mail-sent.js';
import { newPassword, passwordOf, queryOf } from './passwords.js';
import { afterSignIn, emailField, faultNotice, setCookies, signInPage } from './sign-in.js';

/** Sign-in, a new password, and the outbox: what a person does before being known. */
export function enterPages(router: Router, parts: ConsoleParts): void {
  const { people } = parts;
  const bounded = boundedTries(parts.clock);

  router.get('/sign-in', (request, response) => {
    signInPage(response, parts, { to: queryOf(request, 'to') });
  });
  router.post('/sign-in', bounded, async (request, response) => {
    const [email, to] = [textOf(request, 'email', 320), textOf(request, 'to', 500)];
    const outcome = await people.signIn(email, passwordOf(request), visitorOf(request));
    if (outcome.kind === 'no') {
      signInPage(response, parts, { to, email, fault: outcome.message });
      return;
    }
    setCookies(response, outcome);
    response.redirect(303, afterSignIn(to));
  });
  router.post('/sign-out', async (request, response) => {
    setCookies(response, await people.signOut(visitorOf(request)));
    response.redirect(303, '/console/sign-in');
  });

  router.get('/forgot', (_request, response) => forgotPage(response));
  router.post('/forgot', bounded, async (request, response) => {
    const email = textOf(request, 'email', 320);
    const outcome = await inEvenTime(parts.clock, () => people.forgot(email, visitorOf(request)));
    if (outcome.kind === 'no') {
      forgotPage(response, outcome.message);
      return;
    }
    goToMail(response, parts, email);
  });
  router.get('/reset', (request, response) => resetPage(response, queryOf(request, 'token')));
  router.post('/reset', bounded, async (request, response) => {
    const token = textOf(request, 'token', 4000);
    const outcome = await people.reset(token, passwordOf(request), visitorOf(request));
    if (outcome.kind === 'no') {
      resetPage(response, token, outcome.message);
      return;
    }
    const text = 'Your password was changed. Sign in with it.';
    sayAndGo(response, undefined, '/console/sign-in', { kind: 'good', text });
  });

  const { outbox } = parts;
  if (outbox)
    router.get('/outbox', async (_request, response) => outboxPage(response, await outbox()));
}

/** Leads on when it worked, says what was wrong otherwise. */
export function finish(response: Response, outcome: Outcome, to: string, title: string): void {
  setCookies(response, outcome);
  if (outcome.kind === 'done') response.redirect(303, to);
  else sendPage(response, { title, status: 400, body: notice('bad', outcome.message) });
}

function forgotPage(response: Response, fault?: string): void {
  sendPage(response, {
    title: 'Reset your password',
    status: fault === undefined ? 200 : 400,
    body: html`${faultNotice(fault)}
      <form method="post" action="/console/forgot">
        ${emailField()}
        <button class="main">Send me a link</button>
      </form>`,
  });
}

function resetPage(response: Response, token: string, fault?: string): void {
  sendPage(response, {
    title: 'Reset your password',
    status: fault === undefined ? 200 : 400,
    body: html`${faultNotice(fault)}
      <p>This signs you out on every device and unlinks your wallets.</p>
      <form method="post" action="/console/reset">
        <input type="hidden" name="token" value="${token}" />
        ${newPassword()}
        <button class="main">Set password</button>
      </form>`,
  });
}

function outboxPage(
  response: Response,
  mails: readonly { to: string; subject: string; text: string; createdAt: number }[],
): void {
  sendPage(response, {
    title: 'Outbox',
    body: html`<p>
        No mail server is set, so email stays here. Anyone who can open this page can read it. Use
        this for development only.
      </p>
      ${
        mails.length === 0
          ? html`<p class="empty">No email yet.</p>`
          : mails.map(
              ({ to, subject, text, createdAt }) =>
                html`<article>
                  <h2>${subject}</h2>
                  <p class="hint">To ${to}, ${time(new Date(createdAt))}</p>
                  <pre class="mail">${withLinks(text)}</pre>
                </article>`,
            )
      }`,
  });
}

function withLinks(text: string): readonly Html[] {
  return text
    .split(/(https?:\/\/\S+)/)
    .map((part) => (/^https?:/.test(part) ? html`<a href="${part}">${part}</a>` : html`${part}`));
}
