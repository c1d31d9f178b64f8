import type { Request, Response, Router } from 'express';
import { TICKET_MS, type Wallets } from '../../../customers/people/wallets.js';
import type { Outcome } from '../../../customers/people/people.js';
import { parseAddress } from '../../../ground/domain/units.js';
import { idOf, textOf } from '../form.js';
import { cookieOf } from '../cookies.js';
import { boundedTries, sayNotFound, visitorOf, type Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { notice, sendPage, table, time, type Viewer } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { sayAndGo } from '../said.js';
import { afterSignIn, setCookies, signInPage, walletForm } from './sign-in.js';

const PATH = '/console/profile/wallets';
/** Keeps a stranger's proved wallet until an e-mail address was confirmed in the same browser. */
const TICKET_COOKIE = 'search402_wallet';
/** Characters of a signature: a wallet that is yet to be deployed sends its making along. */
const SIGNATURE_MAX = 12_000;

/** Signing in with a wallet, and adding wallets to a profile, where the operator allows it. */
export function walletPages(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { wallets, people, clock } = parts;
  if (!wallets) return;
  const bounded = boundedTries(clock);

  router.post('/wallet/challenge', bounded, (request, response) =>
    sendChallenge(wallets, request, response),
  );
  router.post('/wallet/sign-in', bounded, async (request, response) => {
    const to = textOf(request, 'to', 500);
    const answer = await wallets.signIn(signedOf(request));
    if (answer.kind === 'no') {
      signInPage(response, parts, { to, fault: answer.message });
      return;
    }
    if (answer.kind === 'stranger') {
      response.cookie(TICKET_COOKIE, answer.ticket, {
        httpOnly: true,
        sameSite: 'lax',
        path: '/console',
        secure: parts.publicUrl.startsWith('https:'),
        maxAge: TICKET_MS,
      });
      response.redirect(303, '/console/sign-up');
      return;
    }
    const outcome = await people.enter(answer.personId, visitorOf(request));
    if (outcome.kind === 'no') {
      signInPage(response, parts, { to, fault: outcome.message });
      return;
    }
    setCookies(response, outcome);
    response.redirect(303, afterSignIn(to));
  });

  router.post(
    '/profile/wallets/challenge',
    boundedTries(clock),
    guard.signedIn((viewer, request, response) =>
      sendChallenge(wallets, request, response, viewer.session.person.id),
    ),
  );
  router.post(
    '/profile/wallets',
    guard.signedIn(async (viewer, request, response) => {
      const answer = await wallets.add(viewer.session.person.id, signedOf(request));
      if (answer.kind === 'added') {
        const text = 'The wallet now signs you in.';
        sayAndGo(response, viewer, '/console/profile', { kind: 'good', text });
        return;
      }
      const body = html`${notice('bad', answer.message)}
        <p><a href="/console/profile">Back to the profile</a></p>`;
      sendPage(response, { title: 'Wallet not linked', viewer, status: 400, body });
    }),
  );
  router.post(
    '/profile/wallets/:id/remove',
    guard.signedIn(async (viewer, request, response) => {
      const address = parseAddress(idOf(request));
      const outcome =
        address === undefined
          ? 'not-found'
          : await wallets.remove(viewer.session.person.id, address);
      if (outcome === 'not-found') {
        sayNotFound(viewer, response);
        return;
      }
      const text = 'The wallet was removed.';
      sayAndGo(response, viewer, '/console/profile', { kind: 'good', text });
    }),
  );
}

/** What the page's script hands to the wallet. */
async function sendChallenge(
  wallets: Wallets,
  request: Request,
  response: Response,
  personId?: string,
): Promise<void> {
  const address = parseAddress(textOf(request, 'address', 100));
  if (!address) {
    response.status(400).json({ detail: 'This isn’t a wallet address.' });
    return;
  }
  response.json(await wallets.challenge(address, personId));
}

function signedOf(request: Request): { nonce: string; signature: string } {
  return {
    nonce: textOf(request, 'nonce', 100),
    signature: textOf(request, 'signature', SIGNATURE_MAX),
  };
}

/** Whether this browser has just shown a wallet that belongs to nobody. */
export function bringsWallet(request: Request): boolean {
  return cookieOf(request, TICKET_COOKIE) !== undefined;
}

/** Gives the wallet that this browser has shown to the person who has just been confirmed in it. */
export async function keepWallet(
  { wallets, people }: ConsoleParts,
  request: Request,
  response: Response,
  { cookies }: Extract<Outcome, { kind: 'done' }>,
): Promise<void> {
  const ticket = cookieOf(request, TICKET_COOKIE);
  if (!wallets || ticket === undefined) return;
  const cookie = cookies.map((line) => line.split(';')[0]).join('; ');
  const session = await people.session({ ...visitorOf(request), cookie });
  if (session) await wallets.addProved(session.person.id, ticket);
  response.clearCookie(TICKET_COOKIE, { path: '/console' });
}

/** The wallets on a person's profile; nothing where wallets cannot sign in. */
export async function walletSection({ wallets }: ConsoleParts, viewer: Viewer): Promise<Html> {
  if (!wallets) return html``;
  const list = await wallets.list(viewer.session.person.id);
  return html`<section>
    <h2>Wallets</h2>
    ${table(
      'Wallets that sign you in',
      ['Address', 'Since', ''],
      list.map(({ address, addedAt }) => [
        html`<code>${address}</code>`,
        time(addedAt),
        html`<form method="post" action="${PATH}/${address}/remove" class="inline">
          <button class="quiet danger" aria-label="Remove ${address}">Remove</button>
        </form>`,
      ]),
      'No wallet linked. Link one to sign in without a password.',
    )}
    ${walletForm('Link this browser’s wallet', PATH, `${PATH}/challenge`)}
  </section>`;
}
