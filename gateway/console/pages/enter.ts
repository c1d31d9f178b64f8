import type { Request, Response, Router } from 'express';
import { PASSWORD_LENGTH } from '../../accounts/people/auth.js';
import type { Outcome } from '../../accounts/people/people.js';
import { inEvenTime } from '../even-time.js';
import { textOf } from '../form.js';
import { boundedTries, visitorOf } from '../guard.js';
import { html, type Html } from '../html.js';
import { field, notice, sendPage, table, time } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { afterSignIn, emailField, faultNotice, setCookies, signInPage } from './sign-in.js';
import { bringsWallet, keepWallet } from './wallets.js';

/** Sign-up, confirmation, sign-in, a new password: all that a person does before being known. */
export function enterPages(router: Router, parts: ConsoleParts): void {
  const { people } = parts;
  const bounded = boundedTries(parts.clock);

  router.get('/sign-up', (request, response) => signUpPage(request, response));
  router.post('/sign-up', bounded, async (request, response) => {
    const [name, email, password] = [
      textOf(request, 'name', 80),
      textOf(request, 'email', 320),
      passwordOf(request),
    ];
    const outcome = name
      ? await inEvenTime(parts.clock, () =>
          people.signUp({ name, email, password }, visitorOf(request)),
        )
      : ({ kind: 'no', message: 'A name is missing.' } as const);
    if (outcome.kind === 'no') {
      signUpPage(request, response, outcome.message, { name, email });
      return;
    }
    mailPage(response, parts, email);
  });

  // Opening the link changes nothing: programs that look into mails open links, too.
  router.get('/verify', (request, response) => {
    const token = queryOf(request, 'token');
    sendPage(response, {
      title: 'Confirm your address',
      body: html`<form method="post" action="/console/verify">
        <input type="hidden" name="token" value="${token}" />
        <button class="main">Confirm and sign in</button>
      </form>`,
    });
  });
  router.post('/verify', bounded, async (request, response) => {
    const outcome = await people.verify(textOf(request, 'token', 4000), visitorOf(request));
    if (outcome.kind === 'done') await keepWallet(parts, request, response, outcome);
    finish(response, outcome, '/console', 'Confirm your address');
  });

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
    mailPage(response, parts, email);
  });
  router.get('/reset', (request, response) => resetPage(response, queryOf(request, 'token')));
  router.post('/reset', bounded, async (request, response) => {
    const token = textOf(request, 'token', 4000);
    const outcome = await people.reset(token, passwordOf(request), visitorOf(request));
    if (outcome.kind === 'no') {
      resetPage(response, token, outcome.message);
      return;
    }
    signInPage(response, parts, { good: 'Your new password is set. Sign in with it.' });
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

function queryOf(request: Request, name: string): string {
  const value = request.query[name];
  return typeof value === 'string' ? value.replace(/\p{Cc}/gu, ' ').slice(0, 4000) : '';
}

/** A password as it was typed: not trimmed. */
function passwordOf(request: Request): string {
  const { password } = (request.body ?? {}) as { password?: unknown };
  return typeof password === 'string' ? password.slice(0, PASSWORD_LENGTH.max + 1) : '';
}

const newPassword = () =>
  field({
    name: 'password',
    label: 'Password',
    type: 'password',
    autocomplete: 'new-password',
    hint: `At least ${PASSWORD_LENGTH.min} characters. A few words in a row are good.`,
  });

const WALLET_SHOWN =
  'This wallet belongs to nobody yet. Sign up and confirm your address in this browser, and it signs you in from then on.';

function signUpPage(
  request: Request,
  response: Response,
  fault?: string,
  typed = { name: '', email: '' },
): void {
  sendPage(response, {
    title: 'Sign up',
    status: fault === undefined ? 200 : 400,
    body: html`${faultNotice(fault)} ${bringsWallet(request) && notice('good', WALLET_SHOWN)}
      <p>A new account starts with 1,000 searches, free.</p>
      <form method="post" action="/console/sign-up">
        ${field({ name: 'name', label: 'Your name', autocomplete: 'name', value: typed.name, maxLength: 80 })}
        ${emailField(typed.email)} ${newPassword()}
        <button class="main">Sign up</button>
      </form>
      <p>You have an account? <a href="/console/sign-in">Sign in.</a></p>`,
  });
}

function forgotPage(response: Response, fault?: string): void {
  sendPage(response, {
    title: 'A new password',
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
    title: 'A new password',
    status: fault === undefined ? 200 : 400,
    body: html`${faultNotice(fault)}
      <p>It ends all your sessions, on every device, and takes your wallets off.</p>
      <form method="post" action="/console/reset">
        <input type="hidden" name="token" value="${token}" />
        ${newPassword()}
        <button class="main">Set the password</button>
      </form>`,
  });
}

function mailPage(response: Response, { outbox }: ConsoleParts, email: string): void {
  sendPage(response, {
    title: 'Look into your mail',
    body: html`<p>
        A mail with a link is on its way to <b>${email}</b>. The link is good for an hour.
      </p>
      ${outbox ? html`<p>No mail server is set: <a href="/console/outbox">read it in the outbox.</a></p>` : ''}`,
  });
}

function outboxPage(
  response: Response,
  mails: readonly { to: string; subject: string; text: string; createdAt: number }[],
): void {
  sendPage(response, {
    title: 'Outbox',
    body: html`<p>
        No mail server is set, so mail stays here, where anyone who reaches this address reads it.
        That suits a development start, and nothing else.
      </p>
      ${table(
        'Mails',
        ['Sent', 'To', 'Mail'],
        mails.map((mail) => [
          time(new Date(mail.createdAt)),
          mail.to,
          html`<b>${mail.subject}</b>
            <pre class="mail">${withLinks(mail.text)}</pre>`,
        ]),
        'No mail yet.',
      )}`,
  });
}

function withLinks(text: string): readonly Html[] {
  return text
    .split(/(https?:\/\/\S+)/)
    .map((part) => (/^https?:/.test(part) ? html`<a href="${part}">${part}</a>` : html`${part}`));
}
