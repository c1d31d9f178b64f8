import { html } from '../console/html.js';
import type { Page } from '../console/page.js';

/**
 * What pages of the authorization server may load. No form-action: the answer to the consent form
 * leads on to the client's own address, which a browser would hold against it.
 */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; base-uri 'none'; frame-ancestors 'none'";

export interface ConsentView {
  readonly clientName: string;
  /** Where the client's description was read; undefined when it only claims its name. */
  readonly describedAt: string | undefined;
  /** Where the person is sent afterwards. */
  readonly redirectHost: string;
  readonly person: { readonly name: string; readonly email: string };
  readonly accounts: readonly { readonly id: string; readonly name: string }[];
}

/** Asks a signed-in person whether an application may search on an account of theirs. */
export function consentPage(view: ConsentView): Page {
  const { clientName, describedAt, accounts } = view;
  return {
    title: `Connect ${clientName}?`,
    body: html`<p>
        <strong>${clientName}</strong> wants to search the web with your account.
        ${
          describedAt
            ? html`It is described at <code>${describedAt}</code>.`
            : 'This name is unverified.'
        }
        You will be sent to <code>${view.redirectHost}</code>.
      </p>
      <p>
        It can search, and each search costs one credit. It can’t see or change anything else. You
        are signed in as ${view.person.email}.
      </p>
      <form method="post">
        <fieldset class="choices">
          <legend>Account to charge</legend>
          ${accounts.map(
            ({ id, name }, index) =>
              html`<label>
                <input type="radio" name="account" value="${id}" ${index === 0 ? 'checked' : ''} />
                ${name}
              </label>`,
          )}
        </fieldset>
        <p class="buttons">
          <button class="main" name="decision" value="allow">Connect</button>
          <button name="decision" value="deny">Cancel</button>
        </p>
      </form>`,
  };
}

/** What the browser shows when a request to connect cannot be answered to the application. */
export function errorPage(error: string, description: string | undefined): Page {
  return {
    title: 'Connection failed',
    status: 400,
    body: html`<p>${description ?? 'The application sent an invalid request.'}</p>
      <p>Go back to the application and connect again. Its error: <code>${error}</code></p>`,
  };
}
