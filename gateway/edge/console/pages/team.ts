import type { Response, Router } from 'express';
import { isRole, type Role } from '../../../customers/people/schema.js';
import type { Invitation, Member, TeamChange } from '../../../customers/people/team.js';
import { idOf, textOf } from '../form.js';
import { ACCOUNT_COOKIE, sayNotFound, visitorOf, type Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { field, notice, sendPage, table, time, type Viewer } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { sayAndGo } from '../said.js';
import { dialogForm, dialogLink, select } from '../ui/ask.js';
import { finish } from './enter.js';
import { LAST_ADMIN, removeMember } from './remove-member.js';

const PATH = '/console/team';

/** Who belongs to an account, for Admins; and accepting an invitation, for whoever got one. */
export function teamPages(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { team, people } = parts;

  const show = async (viewer: Viewer, response: Response, said: Html = html``, status = 200) => {
    const { accountId } = viewer.membership;
    const [members, invitations] = await Promise.all([
      team.members(accountId),
      team.invitations(accountId),
    ]);
    sendPage(response, {
      title: 'Team',
      viewer,
      path: PATH,
      status,
      actions: dialogLink(`${PATH}/invite`, 'Invite someone', 'main'),
      body: html`${said} ${memberTable(members, viewer.session.person.id)}
      ${invitationTable(invitations)}`,
    });
  };

  const say = (viewer: Viewer, response: Response, change: TeamChange, done: string) => {
    if (change === 'not-found') {
      sayNotFound(viewer, response);
      return;
    }
    if (change === 'last-admin') return show(viewer, response, notice('bad', LAST_ADMIN), 409);
    sayAndGo(response, viewer, PATH, { kind: 'good', text: done });
    return Promise.resolve();
  };

  router.get(
    '/team',
    guard.admin((viewer, _request, response) => show(viewer, response)),
  );

  const askWhom = (viewer: Viewer, response: Response, fault?: { text: string; email: string }) => {
    sendPage(response, {
      title: 'Invite someone',
      viewer,
      path: PATH,
      status: fault ? 400 : 200,
      body: html`${fault && notice('bad', fault.text)} ${inviteForm(fault?.email ?? '')}`,
    });
    return Promise.resolve();
  };
  router.get(
    '/team/invite',
    guard.admin((viewer, _request, response) => askWhom(viewer, response)),
  );
  router.post(
    '/team/invite',
    guard.admin(async (viewer, request, response) => {
      const [email, role] = [textOf(request, 'email', 320), textOf(request, 'role', 20)];
      if (!isRole(role)) return askWhom(viewer, response, { text: 'Choose a valid role.', email });
      const { accountId } = viewer.membership;
      const outcome = await people.invite(accountId, email, role, visitorOf(request));
      if (outcome.kind === 'no') return askWhom(viewer, response, { text: outcome.message, email });
      sayAndGo(response, viewer, PATH, { kind: 'good', text: invited(parts, email) });
      return;
    }),
  );

  router.post(
    '/team/invitations/:id/cancel',
    guard.admin(async (viewer, request, response) => {
      const open = await team.invitations(viewer.membership.accountId);
      if (!open.some(({ id }) => id === idOf(request))) {
        sayNotFound(viewer, response);
        return;
      }
      const outcome = await people.uninvite(idOf(request), visitorOf(request));
      if (outcome.kind === 'no') {
        sayNotFound(viewer, response);
        return;
      }
      sayAndGo(response, viewer, PATH, { kind: 'good', text: 'The invitation was revoked.' });
    }),
  );

  router.post(
    '/team/members/:id/role',
    guard.admin(async (viewer, request, response) => {
      const role = textOf(request, 'role', 20);
      if (!isRole(role)) return show(viewer, response, notice('bad', 'Choose a valid role.'), 400);
      const change = await team.changeRole(viewer.membership.accountId, idOf(request), role);
      if (change === 'changed' && idOf(request) === viewer.session.person.id) {
        response.redirect(303, '/console');
        return;
      }
      return say(viewer, response, change, `The role is now ${roleName(role)}.`);
    }),
  );

  removeMember(router, parts, guard, say);

  router.post(
    '/switch',
    guard.signedIn(async (viewer, request, response) => {
      const accountId = textOf(request, 'account', 100);
      if (!viewer.memberships.some((one) => one.accountId === accountId)) {
        sayNotFound(viewer, response);
        return;
      }
      response.cookie(ACCOUNT_COOKIE, accountId, {
        httpOnly: true,
        sameSite: 'lax',
        path: '/console',
        secure: parts.publicUrl.startsWith('https:'),
        maxAge: 365 * 24 * 3600 * 1000,
      });
      response.redirect(303, '/console');
      return Promise.resolve();
    }),
  );

  router.get('/invitation', async (request, response) => {
    const { id } = request.query;
    const invitation = typeof id === 'string' ? id.slice(0, 100) : '';
    const isKnown = (await people.session(visitorOf(request))) !== undefined;
    const signUp = `/console/sign-up?invitation=${encodeURIComponent(invitation)}`;
    const back = encodeURIComponent(`/console/invitation?id=${encodeURIComponent(invitation)}`);
    sendPage(response, {
      title: 'Your invitation',
      body: isKnown
        ? html`<form method="post" action="/console/invitation">
            <input type="hidden" name="id" value="${invitation}" />
            <button class="main">Accept invitation</button>
          </form>`
        : html`<p>Sign in or sign up with the address that your invitation was sent to.</p>
            <p>
              <a class="button" href="/console/sign-in?to=${back}">Sign in</a>
              <a class="button" href="${signUp}">Sign up</a>
            </p>`,
    });
  });
  router.post('/invitation', async (request, response) => {
    const visitor = visitorOf(request);
    if (!(await people.session(visitor))) {
      const back = `/console/invitation?id=${encodeURIComponent(textOf(request, 'id', 100))}`;
      response.redirect(303, `/console/sign-in?to=${encodeURIComponent(back)}`);
      return;
    }
    const outcome = await people.accept(textOf(request, 'id', 100), visitor);
    finish(response, outcome, '/console', 'Your invitation');
  });
}

/** What becomes of an invitation: without a mail server the Admin passes it on. */
function invited({ isMailSent, outbox }: ConsoleParts, email: string): string {
  if (isMailSent || outbox) return `We sent an invitation to ${email}.`;
  return (
    `${email} is invited, but this service can’t send email yet. Ask them to sign up with this ` +
    'address. The invitation will be waiting for them.'
  );
}

function roleName(role: Role): string {
  return role === 'admin' ? 'Admin' : 'Member';
}

function roleSelect(id: string, selected: Role): Html {
  return html`<select id="${id}" name="role">
    <option value="member" ${selected === 'member' ? html`selected` : ''}>Member</option>
    <option value="admin" ${selected === 'admin' ? html`selected` : ''}>Admin</option>
  </select>`;
}

function inviteForm(value: string): Html {
  return dialogForm({
    action: `${PATH}/invite`,
    body: html`${field({ name: 'email', label: 'Email address', type: 'email', value })}
      ${select({
        name: 'role',
        label: 'Role',
        options: [
          ['member', 'Member'],
          ['admin', 'Admin'],
        ],
      })}
      <p class="hint">
        A Member manages keys and sees usage. An Admin also manages billing, the plan and the team.
      </p>`,
    does: 'Invite',
    back: PATH,
  });
}

function memberTable(members: readonly Member[], own: string): Html {
  return table(
    'Members',
    ['Name', 'Email address', 'Role', ''],
    members.map(({ userId, name, email, role }) => [
      name,
      email,
      html`<form method="post" action="${PATH}/members/${userId}/role" class="inline">
        <label class="hidden" for="role-${userId}">Role of ${name}</label>
        ${roleSelect(`role-${userId}`, role)} <button class="quiet">Set</button>
      </form>`,
      html`<form method="post" action="${PATH}/members/${userId}/remove" class="inline">
        <button class="quiet danger">${userId === own ? 'Leave' : 'Remove'}</button>
      </form>`,
    ]),
    '',
  );
}

function invitationTable(invitations: readonly Invitation[]): Html {
  if (invitations.length === 0) return html``;
  return html`<h2>Open invitations</h2>
    ${table(
      'Open invitations',
      ['Email address', 'Role', 'Until', ''],
      invitations.map(({ id, email, role, expiresAt }) => [
        email,
        roleName(role),
        time(expiresAt),
        html`<form method="post" action="${PATH}/invitations/${id}/cancel" class="inline">
          <button class="quiet danger">Revoke</button>
        </form>`,
      ]),
      '',
    )}`;
}
