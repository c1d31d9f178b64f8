import type { Response } from 'express';
import type { Membership } from '../../customers/people/team.js';
import type { Session } from '../../customers/people/people.js';
import { assetPath, type AssetName } from './assets.js';
import { html, type Html } from './html.js';
import { takeSaid, type Said } from './said.js';
import { dataTable } from './ui/table.js';

/** Who looks at a page: a signed-in person in one of their accounts. */
export interface Viewer {
  readonly session: Session;
  readonly membership: Membership;
  /** All accounts of the person, to change between them. */
  readonly memberships: readonly Membership[];
  readonly isOperator: boolean;
}

export interface Page {
  readonly title: string;
  readonly body: Html;
  readonly viewer?: Viewer;
  /** The entry of the menu that is marked as the current one. */
  readonly path?: string;
  /** Scripts of the page. */
  readonly scripts?: readonly Extract<AssetName, `${string}.js`>[];
  readonly status?: number;
  /** What one does on this page, beside its title. */
  readonly actions?: Html;
}

const MENU = [
  { path: '/console', name: 'Home' },
  { path: '/console/keys', name: 'Keys' },
  { path: '/console/playground', name: 'Playground' },
  { path: '/console/requests', name: 'Requests' },
  { path: '/console/usage', name: 'Usage' },
  { path: '/console/connect', name: 'Connect' },
  { path: '/console/applications', name: 'Applications' },
  { path: '/console/billing', name: 'Billing', isAdmin: true },
  { path: '/console/team', name: 'Team', isAdmin: true },
  { path: '/console/profile', name: 'Profile' },
] as const;

/** Writes a page. What it may load is said by the policy that `secure` has set. */
export function sendPage(response: Response, page: Page): void {
  const said = takeSaid(response, page.viewer);
  response
    .status(page.status ?? 200)
    .type('html')
    .send(pageText(page, said));
}

/** A whole page as text. */
export function pageText(page: Page, said?: Said): string {
  const { title, body, viewer, path, actions } = page;
  const scripts = ['console.js' as const, ...(page.scripts ?? [])];
  const text = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · search402</title>
        <link
          rel="preload"
          href="${assetPath('geist.woff2')}"
          as="font"
          type="font/woff2"
          crossorigin
        />
        <link rel="stylesheet" href="${assetPath('console.css')}" />
        <link rel="icon" href="${assetPath('icon.svg')}" type="image/svg+xml" />
        ${scripts.map((name) => html`<script type="module" src="${assetPath(name)}"></script>`)}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="mark" href="${viewer ? '/console' : '/'}" aria-label="search402, home"
            >search<b>402</b></a
          >
          ${viewer ? whoIsHere(viewer) : ''}
        </header>
        <div class="${viewer ? 'frame' : 'frame alone'}">
          ${viewer ? menu(viewer, path) : ''}
          <main id="main" tabindex="-1">
            <div class="title">
              <h1>${title}</h1>
              ${actions && html`<p class="buttons">${actions}</p>`}
            </div>
            ${said && toast(said)} ${body}
          </main>
        </div>
      </body>
    </html>`;
  return text.text;
}

function menu({ membership, isOperator }: Viewer, current: string | undefined): Html {
  const entries = MENU.filter((entry) => !('isAdmin' in entry) || membership.role === 'admin');
  const operator = isOperator ? [{ path: '/console/operator', name: 'Operator' }] : [];
  return html`<nav aria-label="Console">
    <ul>
      ${[...entries, ...operator].map(
        ({ path, name }) =>
          html`<li>
            <a href="${path}" ${path === current ? html`aria-current="page"` : ''}>${name}</a>
          </li>`,
      )}
    </ul>
  </nav>`;
}

function whoIsHere({ session, membership, memberships }: Viewer): Html {
  const account =
    memberships.length < 2
      ? html`<span class="account">${membership.accountName}</span>`
      : html`<form method="post" action="/console/switch" class="inline">
          <label for="account-switch" class="hidden">Account</label>
          <select id="account-switch" name="account">
            ${memberships.map(
              ({ accountId, accountName }) =>
                html`<option
                  value="${accountId}"
                  ${accountId === membership.accountId ? html`selected` : ''}
                >
                  ${accountName}
                </option>`,
            )}
          </select>
          <button class="quiet">Change</button>
        </form>`;
  return html`<div class="who">
    ${account}
    <span class="role">${membership.role === 'admin' ? 'Admin' : 'Member'}</span>
    <form method="post" action="/console/sign-out" class="inline">
      <button class="quiet" title="${session.person.email}">Sign out</button>
    </form>
  </div>`;
}

/** What the action before came to; it goes when its button is pressed, or with the next page. */
function toast({ kind, text }: Said): Html {
  return html`<div class="toast ${kind}" role="${kind === 'good' ? 'status' : 'alert'}">
    <p>${text}</p>
    <button type="button" class="quiet" data-dismiss hidden>Dismiss</button>
  </div>`;
}

/** A sentence about what has just happened, read out by screen readers. */
export function notice(kind: 'good' | 'bad', message: string): Html {
  return html`<p class="notice ${kind}" role="${kind === 'good' ? 'status' : 'alert'}">
    ${message}
  </p>`;
}

/** A labelled input. `hint` is tied to it for those who do not see it. */
export function field(input: {
  name: string;
  label: string;
  type?: string;
  value?: string;
  hint?: string;
  autocomplete?: string;
  isOptional?: boolean;
  min?: number;
  max?: number;
  maxLength?: number;
}): Html {
  const { name, label, type = 'text', value = '', autocomplete = 'off' } = input;
  const hint = input.hint ?? (input.isOptional ? 'Optional' : undefined);
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <input
      id="${name}"
      name="${name}"
      type="${type}"
      value="${value}"
      autocomplete="${autocomplete}"
      ${input.isOptional ? '' : html`required`}
      ${input.min === undefined ? '' : html`min="${input.min}"`}
      ${input.max === undefined ? '' : html`max="${input.max}"`}
      ${input.maxLength === undefined ? '' : html`maxlength="${input.maxLength}"`}
      ${hint === undefined ? '' : html`aria-describedby="${name}-hint"`}
    />
    ${hint === undefined ? '' : html`<p class="hint" id="${name}-hint">${hint}</p>`}
  </div>`;
}

type Cell = Html | string | number;

/** Names with their values, one below the other. */
export function facts(rows: readonly (readonly [string, Html | string])[]): Html {
  return html`<dl class="facts">
    ${rows.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}

/** A plain table: see `dataTable`. */
export function table(
  caption: string,
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  empty: string,
): Html {
  return dataTable({ caption, columns: heads.map((head) => ({ head })), rows, empty });
}

export function number(value: number): string {
  return value.toLocaleString('en-US');
}

export { time } from './ui/when.js';
