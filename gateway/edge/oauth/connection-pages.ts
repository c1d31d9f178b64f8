import { Router, type Request, type RequestHandler } from 'express';
import { idOf } from '../console/form.js';
import { sameOrigin, sayNotFound, secure, type Guard } from '../console/guard.js';
import { html, type Html } from '../console/html.js';
import { sendPage, table, time } from '../console/page.js';
import { sayAndGo } from '../console/said.js';
import type { Connection, Connections } from './connections.js';

const PATH = '/console/applications';

/** The applications that a person has connected, to be mounted at `/console`; each can be ended. */
export function connectionPages(
  connections: Connections,
  guard: Guard,
  saying: RequestHandler,
): Router {
  const router = Router({ caseSensitive: true });
  router.use('/applications', secure, sameOrigin, saying);
  router.get(
    '/applications',
    guard.signedIn(async (viewer, _request, response) => {
      const list = await connections.list(viewer.session.person.id);
      sendPage(response, {
        title: 'Applications',
        viewer,
        path: PATH,
        body: html`<p>
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
    }),
  );
  router.post(
    '/applications/:id/end',
    guard.signedIn(async (viewer, request: Request, response) => {
      const outcome = await connections.revoke(viewer.session.person.id, idOf(request));
      if (outcome === 'not-found') {
        sayNotFound(viewer, response);
        return;
      }
      sayAndGo(response, viewer, PATH, {
        kind: 'good',
        text: 'The application was disconnected. It must ask you again.',
      });
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
