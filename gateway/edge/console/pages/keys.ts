import type { Request, Response, Router } from 'express';
import { maskKey } from '../../../customers/keys/format.js';
import { KEYS_PER_ACCOUNT_MAX, keyState, type KeyView } from '../../../customers/keys/keys.js';
import { idOf, numberOf } from '../form.js';
import { sayNotFound, type Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { sendPage, type Viewer } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { sayAndGo, takeSaid } from '../said.js';
import { copyBlock, dialogLink } from '../ui/ask.js';
import { tableView } from '../ui/table.js';
import {
  createForm,
  editForm,
  KEYS_PATH as PATH,
  OVERLAP_HOURS_MAX,
  readTerms,
  revokeForm,
  rotateForm,
} from './key-forms.js';
import { keyTables, SPARK_DAYS, type KeyFacts } from './key-table.js';

const DAY_MS = 24 * 3600 * 1000;

/** The keys of an account, for every member. Each form has a page, and opens in a dialog. */
export function keyPages(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { keys, team, clock, insight } = parts;

  const factsOf = async ({ membership: { accountId } }: Viewer): Promise<KeyFacts> => {
    const now = clock.now();
    const range = { from: new Date(now - SPARK_DAYS * DAY_MS), to: new Date(now + 1) };
    const [list, members, days, used] = await Promise.all([
      keys.list(accountId),
      team.members(accountId),
      insight.keyDays(accountId, range),
      insight.usedThisMonth(accountId, now),
    ]);
    return {
      list,
      names: new Map(members.map(({ userId, name }) => [userId, name])),
      days,
      used,
      now,
    };
  };

  /** Shows the form of one key that works and is not on its way out. */
  const form =
    (title: (key: KeyView) => string, body: (key: KeyView) => Html) =>
    async (viewer: Viewer, request: Request, response: Response) => {
      const key = await workingKey(parts, viewer, idOf(request));
      if (!key) {
        sayNotFound(viewer, response);
        return;
      }
      sendPage(response, { title: title(key), viewer, path: PATH, body: body(key) });
    };

  router.get(
    '/keys',
    guard.signedIn(async (viewer, request, response) => {
      const facts = await factsOf(viewer);
      const made = takeSaid(response, viewer)?.key;
      sendPage(response, {
        title: 'Keys',
        viewer,
        path: PATH,
        actions: dialogLink(`${PATH}/new`, 'Create key', 'main'),
        body: html`${made === undefined ? '' : newKey(made, parts.publicUrl)}
        ${formerForm(formerKeys(facts).length)} ${keyTables(facts, tableView(PATH, request.query))}`,
      });
    }),
  );

  router.get(
    '/keys/new',
    guard.signedIn((viewer, _request, response) => {
      sendPage(response, { title: 'Create a key', viewer, path: PATH, body: createForm() });
      return Promise.resolve();
    }),
  );
  router.post(
    '/keys',
    guard.signedIn(async (viewer, request, response) => {
      const refuse = (fault: string) => {
        const body = createForm({ request, fault });
        sendPage(response, { title: 'Create a key', viewer, path: PATH, status: 400, body });
      };
      const terms = readTerms(request, clock.now());
      if (typeof terms === 'string') {
        refuse(terms);
        return;
      }
      const { accountId } = viewer.membership;
      if ((await keys.list(accountId)).length >= KEYS_PER_ACCOUNT_MAX) {
        refuse(`An account can have at most ${KEYS_PER_ACCOUNT_MAX} keys, including revoked ones.`);
        return;
      }
      const { key } = await keys.create(accountId, viewer.session.person.id, terms);
      sayAndGo(response, viewer, PATH, { kind: 'good', text: `${terms.name} was created.`, key });
    }),
  );

  router.post(
    '/keys/revoke-former',
    guard.signedIn(async (viewer, _request, response) => {
      const former = formerKeys(await factsOf(viewer));
      await Promise.all(former.map(({ id }) => keys.revoke(viewer.membership.accountId, id)));
      const text = 'The keys of former members were revoked.';
      sayAndGo(response, viewer, PATH, { kind: 'good', text });
    }),
  );

  router.get('/keys/:id/edit', guard.signedIn(form(({ name }) => `Edit ${name}`, editForm)));
  router.post(
    '/keys/:id/edit',
    guard.signedIn(async (viewer, request, response) => {
      const key = await workingKey(parts, viewer, idOf(request));
      if (!key) {
        sayNotFound(viewer, response);
        return;
      }
      const terms = readTerms(request, clock.now(), key);
      if (typeof terms === 'string') {
        const body = editForm(key, { request, fault: terms });
        sendPage(response, { title: `Edit ${key.name}`, viewer, path: PATH, status: 400, body });
        return;
      }
      const outcome = await keys.edit(viewer.membership.accountId, key.id, terms);
      if (outcome === 'not-found') sayNotFound(viewer, response);
      else sayAndGo(response, viewer, PATH, { kind: 'good', text: `${terms.name} was changed.` });
    }),
  );

  router.get('/keys/:id/revoke', guard.signedIn(form(({ name }) => `Revoke ${name}?`, revokeForm)));
  router.post(
    '/keys/:id/revoke',
    guard.signedIn(async (viewer, request, response) => {
      const outcome = await keys.revoke(viewer.membership.accountId, idOf(request));
      if (outcome === 'not-found') {
        sayNotFound(viewer, response);
        return;
      }
      const text = 'The key was revoked and no longer works.';
      sayAndGo(response, viewer, PATH, { kind: 'good', text });
    }),
  );

  router.get('/keys/:id/rotate', guard.signedIn(form(({ name }) => `Rotate ${name}?`, rotateForm)));
  router.post(
    '/keys/:id/rotate',
    guard.signedIn(async (viewer, request, response) => {
      const hours = numberOf(request, 'hours', { min: 0, max: OVERLAP_HOURS_MAX }) ?? 24;
      if (Number.isNaN(hours)) {
        const text = `The overlap must be between 0 and ${OVERLAP_HOURS_MAX} hours.`;
        sayAndGo(response, viewer, PATH, { kind: 'bad', text });
        return;
      }
      const { membership, session } = viewer;
      const by = session.person.id;
      const overlapMs = hours * 3600 * 1000;
      const created = await keys.rotate(membership.accountId, idOf(request), by, overlapMs);
      if (created === 'not-found') {
        sayNotFound(viewer, response);
        return;
      }
      const { key } = created;
      sayAndGo(response, viewer, PATH, { kind: 'good', text: 'The key was replaced.', key });
    }),
  );
}

/** A key of the viewer's account that works and that no other is replacing. */
async function workingKey(
  { keys, clock }: ConsoleParts,
  { membership }: Viewer,
  id: string,
): Promise<KeyView | undefined> {
  const list = await keys.list(membership.accountId);
  return list.find(
    (key) => key.id === id && key.replacedBy === undefined && keyState(key, clock.now()) === 'live',
  );
}

/** Keys that work, made by somebody who has left the account or was removed from it. */
function formerKeys({ list, names, now }: KeyFacts): readonly KeyView[] {
  return list.filter(
    (key) =>
      key.createdBy !== undefined && !names.has(key.createdBy) && keyState(key, now) === 'live',
  );
}

function formerForm(count: number): Html {
  if (count === 0) return html``;
  return html`<form method="post" action="${PATH}/revoke-former" class="panel">
    <p>
      ${count === 1 ? 'One active key was' : `${count} active keys were`} created by someone who is
      no longer in this account. They may still have a copy.
    </p>
    <button class="danger">Revoke ${count === 1 ? 'this key' : 'these keys'}</button>
  </form>`;
}

/** A key that was just made: this page shows it, and none after it. */
function newKey(key: string, publicUrl: string): Html {
  const call = [
    `curl ${publicUrl}/search`,
    `  -H 'Authorization: Bearer ${key}'`,
    `  -H 'Content-Type: application/json'`,
    `  -d '{"query":"postgres jsonb index"}'`,
  ].join(' \\\n');
  return html`<section class="panel made">
    <h2>Your new key</h2>
    <p>Copy it now. You won’t see it again.</p>
    <p class="secret">
      <code id="new-key">${key}</code>
      <button type="button" class="quiet" data-copy="new-key">
        Copy<span class="hidden"> the key</span>
      </button>
    </p>
    <details>
      <summary>Try it</summary>
      ${copyBlock('new-key-call', 'the call with this key', call)}
    </details>
    <span class="hidden">Masked later as ${maskKey(key.slice(-4))}</span>
  </section>`;
}
