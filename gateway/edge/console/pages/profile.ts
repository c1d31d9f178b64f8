import type { Response, Router } from 'express';
import { idOf, textOf } from '../form.js';
import { visitorOf, sayNotFound, type Guard } from '../guard.js';
import type { Visitor } from '../../../customers/people/people.js';
import { html, type Html } from '../html.js';
import { field, notice, sendPage, table, time, type Viewer } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import type { Request } from 'express';
import { sayAndGo } from '../said.js';
import { walletSection } from './wallets.js';

const PATH = '/console/profile';

/** A person's own sessions and wallets, and the account's name. */
export function profilePages(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { people, accounts } = parts;

  const show = async (
    viewer: Viewer,
    request: Request,
    response: Response,
    said: Html = html``,
    status = 200,
  ) => {
    const [sessions, wallets] = await Promise.all([
      people.sessions(visitorOf(request)),
      walletSection(parts, viewer),
    ]);
    const { session, membership } = viewer;
    sendPage(response, {
      title: 'Profile',
      viewer,
      path: PATH,
      status,
      scripts: parts.wallets ? ['wallet-sign-in.js'] : [],
      body: html`${said}
        <p>${session.person.name}, ${session.person.email}</p>
        <h2>Sessions</h2>
        ${table(
          'Sessions',
          ['Since', 'Until', 'From', 'Browser', ''],
          sessions.map((one) => [
            time(one.createdAt),
            time(one.expiresAt),
            one.address ?? '',
            html`<span title="${one.userAgent ?? ''}">${browserOf(one.userAgent ?? '')}</span>`,
            one.isThis
              ? 'this one'
              : html`<form method="post" action="${PATH}/sessions/${one.id}/end" class="inline">
                  <button class="quiet danger">End</button>
                </form>`,
          ]),
          '',
        )}
        <p><a href="/console/forgot">Reset your password</a> by email.</p>
        ${wallets} ${membership.role === 'admin' ? renameForm(membership.accountName) : ''}
        <h2>Export</h2>
        <p>
          Everything that is kept about you, and what you may see of ${membership.accountName}, as
          JSON.
        </p>
        <p><a class="button" href="${PATH}/export">Download my data</a></p>
        <h2>Leave</h2>
        <form method="post" action="/console/leave">
          <button class="danger">Leave ${membership.accountName}</button>
        </form>`,
    });
  };

  router.get(
    '/profile',
    guard.signedIn((viewer, request, response) => show(viewer, request, response)),
  );
  router.get(
    '/profile/export',
    guard.signedIn(async (viewer, request, response) => {
      const data = await exportOf(parts, viewer, visitorOf(request));
      response.setHeader('Content-Disposition', 'attachment; filename="search402-export.json"');
      response.type('json').send(JSON.stringify(data, null, 2));
    }),
  );
  router.post(
    '/profile/sessions/:id/end',
    guard.signedIn(async (viewer, request, response) => {
      const outcome = await people.endSession(idOf(request), visitorOf(request));
      if (outcome.kind === 'no') {
        sayNotFound(viewer, response);
        return;
      }
      sayAndGo(response, viewer, PATH, { kind: 'good', text: 'The session was ended.' });
    }),
  );
  router.post(
    '/profile/account',
    guard.admin(async (viewer, request, response) => {
      const name = textOf(request, 'account', 80);
      if (name === '') {
        return show(viewer, request, response, notice('bad', 'Enter a name for the account.'), 400);
      }
      await accounts.rename(viewer.membership.accountId, name);
      sayAndGo(response, viewer, PATH, { kind: 'good', text: `The account is now ${name}.` });
    }),
  );
}

const EXPORT_DAYS = 90;
const EXPORT_REQUESTS_MAX = 10_000;

/** A person's own data, and what a member may see of the account, for people and programs. */
async function exportOf(
  { people, wallets, keys, usage, clock }: ConsoleParts,
  { session, memberships, membership }: Viewer,
  visitor: Visitor,
): Promise<object> {
  const { accountId } = membership;
  const now = clock.now();
  const range = { from: new Date(now - EXPORT_DAYS * 24 * 3600 * 1000), to: new Date(now + 1) };
  const [sessions, own, keyList, days, requests] = await Promise.all([
    people.sessions(visitor),
    wallets?.list(session.person.id) ?? [],
    keys.list(accountId),
    usage.read(accountId, range, 'day'),
    usage.requests(accountId, { count: EXPORT_REQUESTS_MAX }),
  ]);
  return {
    exportedAt: new Date(now).toISOString(),
    person: session.person,
    accounts: memberships,
    sessions,
    wallets: own,
    account: { id: accountId, keys: keyList, usageByDay: days, requests },
  };
}

/** What a person would call the browser of a User-Agent header; the header itself when unknown. */
export function browserOf(userAgent: string): string {
  const names = [
    ['Edge', /\bEdg/],
    ['Opera', /\bOPR\//],
    ['Firefox', /\b(Firefox|FxiOS)\//],
    ['Chrome', /(Chrome|CriOS|Chromium)\//],
    ['Safari', /\bSafari\//],
  ] as const;
  const systems = [
    ['iPhone', /\biPhone\b/],
    ['iPad', /\biPad\b/],
    ['Android', /\bAndroid\b/],
    ['Windows', /\bWindows\b/],
    ['macOS', /\bMac OS X\b/],
    ['Linux', /\bLinux\b/],
  ] as const;
  const name = names.find(([, pattern]) => pattern.test(userAgent))?.[0];
  const system = systems.find(([, pattern]) => pattern.test(userAgent))?.[0];
  if (name === undefined) return userAgent.slice(0, 40);
  return system === undefined ? name : `${name} on ${system}`;
}

function renameForm(name: string): Html {
  return html`<h2>Account</h2>
    <form method="post" action="${PATH}/account" class="row">
      ${field({ name: 'account', label: 'Account name', value: name, maxLength: 80 })}
      <button>Rename</button>
    </form>`;
}
