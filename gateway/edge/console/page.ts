import type { Response } from 'express';
import type { Membership } from '../../customers/people/team.js';
import type { Session } from '../../customers/people/people.js';
import { assetPath, type AssetName } from './assets.js';
import { html, type Html } from './html.js';

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
}

const MENU = [
  { path: '/console/keys', name: 'Keys' },
  { path: '/console/usage', name: 'Usage' },
  { path: '/console/requests', name: 'Requests' },
  { path: '/console/playground', name: 'Playground' },
  { path: '/console/connect', name: 'Connect' },
  { path: '/console/applications', name: 'Applications' },
  { path: '/console/billing', name: 'Billing', isAdmin: true },
  { path: '/console/team', name: 'Team', isAdmin: true },
  { path: '/console/profile', name: 'Profile' },
] as const;

/** Writes a page. What it may load is said by the policy that `secure` has set. */
export function sendPage(response: Response, page: Page): void {
  response
    .status(page.status ?? 200)
    .type('html')
    .send(pageText(page));
}

/** A whole page as text. */
export function pageText({ title, body, viewer, scripts = [], path }: Page): string {
  const text = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · search402</title>
        <link rel="stylesheet" href="${assetPath('console.css')}" />
        <link rel="icon" href="${assetPath('icon.svg')}" type="image/svg+xml" />
        ${scripts.map((name) => html`<script type="module" src="${assetPath(name)}"></script>`)}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="mark" href="/console">search<b>402</b></a>
          ${viewer ? whoIsHere(viewer) : ''}
        </header>
        <div class="${viewer ? 'frame' : 'frame alone'}">
          ${viewer ? menu(viewer, path) : ''}
          <main id="main" tabindex="-1">
            <h1>${title}</h1>
            ${body}
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

/**
 * A table with a caption for those who hear it. On a narrow screen each row of one that holds more
 * than figures becomes a card, with the heads as labels.
 */
export function table(
  caption: string,
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  empty: string,
): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const isNumber = (column: number) => typeof rows[0]?.[column] === 'number';
  const holdsFigures = heads.every((_, column) => column === 0 || isNumber(column));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table class="${holdsFigures ? '' : 'cards'}">
      <caption class="hidden">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${heads.map(
            (head, column) =>
              html`<th scope="col" class="${isNumber(column) ? 'number' : ''}">${head}</th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((cell, column) => tableCell(cell, heads[column] ?? ''))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function tableCell(cell: Cell, head: string): Html {
  return typeof cell === 'number'
    ? html`<td class="number" data-head="${head}">${number(cell)}</td>`
    : html`<td data-head="${head}"><div>${cell}</div></td>`;
}

export function number(value: number): string {
  return value.toLocaleString('en-US');
}

/** A time, to the minute and in UTC. */
export function time(date: Date): Html {
  const text = date.toISOString();
  return html`<time datetime="${text}">${text.slice(0, 16).replace('T', ' ')}</time>`;
}
