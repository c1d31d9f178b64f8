import type { Request, Response, Router } from 'express';
import { DEAD_LINK, type OpenSignUp } from '../../../customers/people/sign-up.js';
import { inEvenTime } from '../even-time.js';
import { textOf } from '../form.js';
import { boundedTries, visitorOf } from '../guard.js';
import { html } from '../html.js';
import { field, notice, sendPage } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { goToMail } from './mail-sent.js';
import { newPassword, passwordOf, queryOf } from './passwords.js';
import { emailField, faultNotice, setCookies } from './sign-in.js';
import { bringsWallet, keepWallet } from './wallets.js';

/**
 * Sign-up, and the confirmation by the mailed link. The password is set by whoever opens that link:
 * nothing that somebody typed before it counts.
 */
export function signUpPages(router: Router, parts: ConsoleParts): void {
  const { people } = parts;
  const bounded = boundedTries(parts.clock);

  router.get('/sign-up', (request, response) => {
    const typed = { name: '', email: '', invitation: queryOf(request, 'invitation').slice(0, 100) };
    signUpPage(request, response, typed);
  });
  router.post('/sign-up', bounded, async (request, response) => {
    const typed = {
      name: textOf(request, 'name', 80),
      email: textOf(request, 'email', 320),
      invitation: textOf(request, 'invitation', 100),
    };
    const { invitation, ...person } = typed;
    const outcome = typed.name
      ? await inEvenTime(parts.clock, () =>
          people.signUp({ ...person, ...(invitation && { invitation }) }, visitorOf(request)),
        )
      : ({ kind: 'no', message: 'Enter your name.' } as const);
    if (outcome.kind === 'no') {
      signUpPage(request, response, typed, outcome.message);
      return;
    }
    goToMail(response, parts, typed.email);
  });

  // Opening the link changes nothing: programs that look into mails open links, too.
  router.get('/verify', async (request, response) => {
    const token = queryOf(request, 'token');
    confirmPage(response, token, await people.openSignUp(token));
  });
  router.post('/verify', bounded, async (request, response) => {
    const [token, name] = [textOf(request, 'token', 4000), textOf(request, 'name', 80)];
    const chosen = { ...(name && { name }), password: passwordOf(request) };
    const outcome = await people.verify(token, chosen, visitorOf(request));
    if (outcome.kind === 'no') {
      confirmPage(response, token, await people.openSignUp(token), outcome.message);
      return;
    }
    await keepWallet(parts, request, response, outcome);
    setCookies(response, outcome);
    const { invitation } = outcome;
    const to = invitation && `/console/invitation?id=${encodeURIComponent(invitation)}`;
    response.redirect(303, to ?? '/console');
  });
}

const WALLET_SHOWN =
  'No account uses this wallet yet. Sign up and confirm your email in this browser to sign in with it from then on.';

function signUpPage(
  request: Request,
  response: Response,
  typed: { readonly name: string; readonly email: string; readonly invitation: string },
  fault?: string,
): void {
  const { name, email, invitation } = typed;
  sendPage(response, {
    title: 'Sign up',
    status: fault === undefined ? 200 : 400,
    body: html`${faultNotice(fault)} ${bringsWallet(request) && notice('good', WALLET_SHOWN)}
      <p>
        ${invitation ? 'Use the address that your invitation was sent to.' : 'New accounts get 1,000 free searches.'}
      </p>
      <form method="post" action="/console/sign-up">
        ${field({ name: 'name', label: 'Your name', autocomplete: 'name', value: name, maxLength: 80 })}
        ${emailField(email)}
        <input type="hidden" name="invitation" value="${invitation}" />
        <button class="main">Sign up</button>
        <p class="hint">We’ll send you a link. Open it to choose a password.</p>
      </form>
      <p>Already have an account? <a href="/console/sign-in">Sign in.</a></p>`,
  });
}

function confirmPage(
  response: Response,
  token: string,
  signUp: OpenSignUp | undefined,
  fault?: string,
): void {
  if (!signUp) {
    sendPage(response, {
      title: 'Confirm your address',
      status: 400,
      body: html`${faultNotice(DEAD_LINK)}
        <p>
          <a class="button" href="/console/sign-in">Sign in</a>
          <a class="button" href="/console/sign-up">Sign up</a>
        </p>`,
    });
    return;
  }
  sendPage(response, {
    title: 'Confirm your address',
    status: fault === undefined ? 200 : 400,
    body: html`${faultNotice(fault)}
      <p>Confirm that <b>${signUp.email}</b> is yours.</p>
      <form method="post" action="/console/verify">
        <input type="hidden" name="token" value="${token}" />
        <input type="hidden" name="email" value="${signUp.email}" autocomplete="username" />
        ${field({ name: 'name', label: 'Your name', autocomplete: 'name', value: signUp.name, maxLength: 80 })}
        ${newPassword()}
        <button class="main">Confirm and sign in</button>
      </form>`,
  });
}
