import { Router, type Request, type Response } from 'express';
import { idOf } from '../console/form.js';
import { sameOrigin, sayNotFound, secure, type Guard } from '../console/guard.js';
import { html, type Html } from '../console/html.js';
import { notice, sendPage, table, time, type Viewer } from '../console/page.js';
import type { Connection, Connections } from './connections.js';

const PATH = '/console/applications';

/** The applications that a person has connected, to be mounted at `/console`; each can be ended. */
export function connectionPages(connections: Connections, guard: Guard): Router {
  const router = Router({ caseSensitive: true });
  const show = async (viewer: Viewer, response: Response, said?: Html) => {
    const list = await connections.list(viewer.session.person.id);
    sendPage(response, {
      title: 'Applications',
      viewer,
      path: PATH,
      body: html`${said}
        <p>
          Applications you connected by signing in. Each search costs one credit of the account.
          They can’t see or change anything else.
        </p>
        ${table(
          'Connected applications',
          ['Application', 'Account', 'May', 'Since', 'Last used', ''],
          list.map(rowOf),
          'No applications connected. See Connect for how to add one.',
        )}`,
    });
  };

  router.use('/applications', secure, sameOrigin);
  router.get(
    '/applications',
    guard.signedIn((viewer, _request, response) => show(viewer, response)),
  );
  router.post(
    '/applications/:id/end',
    guard.signedIn(async (viewer, request: Request, response) => {
      const outcome = await connections.revoke(viewer.session.person.id, idOf(request));
      if (outcome === 'not-found') {
        sayNotFound(viewer, response);
        return;
      }
      const ended = 'The application was disconnected. It must ask you again.';
      await show(viewer, response, notice('good', ended));
    }),
  );
  return router;
}

function rowOf(connection: Connection): (Html | string)[] {
  const { id, clientName, describedAt, accountName, createdAt, lastUsedAt } = connection;
  return [
    html`<span class="clip">${clientName}</span>
      <p class="hint">${describedAt ? html`described at ${describedAt}` : 'unverified name'}</p>`,
    accountName,
    html`${connection.scope}
      <p class="hint">at ${connection.resources}</p>`,
    time(createdAt),
    lastUsedAt ? time(lastUsedAt) : 'never',
    html`<form method="post" action="${PATH}/${id}/end" class="inline">
      <button class="quiet danger">End<span class="hidden"> ${clientName}</span></button>
    </form>`,
  ];
}
