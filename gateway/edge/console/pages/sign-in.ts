import type { Response } from 'express';
import type { Outcome } from '../../../customers/people/people.js';
import { html, type Html } from '../html.js';
import { field, notice, sendPage } from '../page.js';
import type { ConsoleParts } from '../parts.js';

/** Where a person goes who has signed in: back to a page of the console, and to nothing else. */
export function afterSignIn(to: string): string {
  return /^\/console(\/|$)/.test(to) ? to : '/console';
}

export function setCookies(response: Response, outcome: Outcome): void {
  if (outcome.kind === 'done') response.append('Set-Cookie', [...outcome.cookies]);
}

/** The sign-in page; `to` is where it leads on to. */
export function signInPage(
  response: Response,
  { wallets }: Pick<ConsoleParts, 'wallets'>,
  { to = '', fault, email = '' }: { to?: string; fault?: string; email?: string },
): void {
  const back = html`<input type="hidden" name="to" value="${to}" />`;
  const byWallet = () =>
    walletForm(
      'Sign in with a wallet',
      '/console/wallet/sign-in',
      '/console/wallet/challenge',
      back,
    );
  sendPage(response, {
    title: 'Sign in',
    status: fault === undefined ? 200 : 400,
    scripts: wallets ? ['wallet-sign-in.js'] : [],
    body: html`${faultNotice(fault)}
      <form method="post" action="/console/sign-in">
        ${back} ${emailField(email)}
        ${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' })}
        <button class="main">Sign in</button>
      </form>
      ${wallets && byWallet()}
      <p>
        <a href="/console/sign-up">Sign up</a> · <a href="/console/forgot">Forgot your password?</a>
      </p>`,
  });
}

/** A form that the page's script fills with what the wallet signed (`console/wallet-sign-in.ts`). */
export function walletForm(
  label: string,
  action: string,
  challenge: string,
  more: Html = html``,
): Html {
  return html`<form method="post" action="${action}" data-challenge="${challenge}" class="wallet">
    ${more}
    <input type="hidden" name="nonce" />
    <input type="hidden" name="signature" />
    <button>${label}</button>
    <p class="hint" role="status" aria-live="polite"></p>
  </form>`;
}

/** The field of an e-mail address, as every form of signing in has it. */
export const emailField = (value = '') =>
  field({ name: 'email', label: 'Email address', type: 'email', autocomplete: 'email', value });

/** What was wrong, if something was. */
export function faultNotice(fault: string | undefined): Html {
  return fault === undefined ? html`` : notice('bad', fault);
}
