import type { Router } from 'express';
import type { InvitationToJoin } from '../../../customers/people/team.js';
import type { Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { sendPage } from '../page.js';
import type { ConsoleParts } from '../parts.js';

/**
 * Where somebody goes who is in no account: was invited, was removed, or left. They join one or
 * create their own, whatever others have invited, cancelled or removed.
 */
export function startPages(router: Router, { team }: ConsoleParts, guard: Guard): void {
  router.get(
    '/start',
    guard.person(async ({ person }, _request, response) => {
      if ((await team.memberships(person.id)).length > 0) {
        response.redirect(303, '/console');
        return;
      }
      const invitations = await team.invitationsTo(person.email);
      sendPage(response, {
        title: 'You’re not in any account yet',
        body: html`${invitations.map(invitationForm)}
          <form method="post" action="/console/start" class="panel">
            <p>Create an account of your own. You can join others later.</p>
            <button class="${invitations.length > 0 ? '' : 'main'}">Create an account</button>
          </form>
          <form method="post" action="/console/sign-out"><button>Sign out</button></form>`,
      });
    }),
  );
  router.post(
    '/start',
    guard.person(async ({ person }, _request, response) => {
      await team.found(person);
      response.redirect(303, '/console');
    }),
  );
}

function invitationForm({ id, accountName, role }: InvitationToJoin): Html {
  return html`<form method="post" action="/console/invitation" class="panel">
    <p>You’re invited to <b>${accountName}</b> as ${role === 'admin' ? 'an Admin' : 'a Member'}.</p>
    <input type="hidden" name="id" value="${id}" />
    <button class="main">Join ${accountName}</button>
  </form>`;
}
