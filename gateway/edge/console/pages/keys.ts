import type { Request, Response, Router } from 'express';
import { RATE_PER_SECOND_MAX } from '../../../ground/domain/plan.js';
import { unixMillis } from '../../../ground/domain/units.js';
import { maskKey } from '../../../customers/keys/format.js';
import {
  KEYS_PER_ACCOUNT_MAX,
  keyState,
  type KeyTerms,
  type KeyView,
} from '../../../customers/keys/keys.js';
import { idOf, numberOf, textOf } from '../form.js';
import { sayNotFound, type Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { field, notice, number, sendPage, table, time, type Viewer } from '../page.js';
import type { ConsoleParts } from '../parts.js';

const PATH = '/console/keys';
const DAY_MS = 24 * 3600 * 1000;
const OVERLAP_HOURS_MAX = 30 * 24;
const BUDGET_MAX = 1_000_000_000;

/** The keys of an account, for every member. */
export function keyPages(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { keys, team, clock } = parts;

  const show = async (viewer: Viewer, response: Response, said: Html = html``, status = 200) => {
    const { accountId } = viewer.membership;
    const [list, members] = await Promise.all([keys.list(accountId), team.members(accountId)]);
    const names = new Map(members.map(({ userId, name }) => [userId, name]));
    sendPage(response, {
      title: 'Keys',
      viewer,
      path: PATH,
      status,
      scripts: ['copy.js'],
      body: html`${said} ${formerForm(formerKeys(list, names, clock.now()).length)} ${createForm()}
      ${keyTable(list, names, clock.now())}`,
    });
  };

  router.get(
    '/keys',
    guard.signedIn((viewer, _request, response) => show(viewer, response)),
  );

  router.post(
    '/keys',
    guard.signedIn(async (viewer, request, response) => {
      const terms = readTerms(request, clock.now());
      if (typeof terms === 'string') return show(viewer, response, notice('bad', terms), 400);
      const { accountId } = viewer.membership;
      if ((await keys.list(accountId)).length >= KEYS_PER_ACCOUNT_MAX) {
        const full = `An account can have at most ${KEYS_PER_ACCOUNT_MAX} keys, including revoked ones.`;
        return show(viewer, response, notice('bad', full), 400);
      }
      const { key } = await keys.create(accountId, viewer.session.person.id, terms);
      return show(viewer, response, newKey(key, parts.publicUrl));
    }),
  );

  router.post(
    '/keys/revoke-former',
    guard.signedIn(async (viewer, _request, response) => {
      const { accountId } = viewer.membership;
      const [list, members] = await Promise.all([keys.list(accountId), team.members(accountId)]);
      const names = new Map(members.map(({ userId, name }) => [userId, name]));
      const former = formerKeys(list, names, clock.now());
      await Promise.all(former.map(({ id }) => keys.revoke(accountId, id)));
      return show(viewer, response, notice('good', 'The keys of former members were revoked.'));
    }),
  );

  router.post(
    '/keys/:id/revoke',
    guard.signedIn(async (viewer, request, response) => {
      const outcome = await keys.revoke(viewer.membership.accountId, idOf(request));
      if (outcome === 'not-found') {
        sayNotFound(viewer, response);
        return;
      }
      return show(viewer, response, notice('good', 'The key was revoked and no longer works.'));
    }),
  );

  router.post(
    '/keys/:id/rotate',
    guard.signedIn(async (viewer, request, response) => {
      const hours = numberOf(request, 'hours', { min: 0, max: OVERLAP_HOURS_MAX }) ?? 24;
      if (Number.isNaN(hours)) {
        const fault = `The overlap must be between 0 and ${OVERLAP_HOURS_MAX} hours.`;
        return show(viewer, response, notice('bad', fault), 400);
      }
      const { membership, session } = viewer;
      const overlapMs = hours * 3600 * 1000;
      const created = await keys.rotate(
        membership.accountId,
        idOf(request),
        session.person.id,
        overlapMs,
      );
      if (created === 'not-found') {
        sayNotFound(viewer, response);
        return;
      }
      return show(viewer, response, newKey(created.key, parts.publicUrl));
    }),
  );
}

function readTerms(request: Request, now: number): KeyTerms | string {
  const name = textOf(request, 'name', 80);
  const days = numberOf(request, 'days', { min: 1, max: 3650 });
  const monthlyBudget = numberOf(request, 'budget', { min: 1, max: BUDGET_MAX });
  const ratePerSecond = numberOf(request, 'rate', { min: 1, max: RATE_PER_SECOND_MAX });
  if (name === '') return 'Enter a name for the key.';
  if (Number.isNaN(days)) return 'A key must expire within 1 to 3650 days.';
  if (Number.isNaN(monthlyBudget)) return 'The monthly budget must be a whole number of credits.';
  if (Number.isNaN(ratePerSecond)) return `The rate must be between 1 and ${RATE_PER_SECOND_MAX}.`;
  return {
    name,
    ...(days !== undefined && { expiresAt: unixMillis(now + days * DAY_MS) }),
    ...(monthlyBudget !== undefined && { monthlyBudget }),
    ...(ratePerSecond !== undefined && { ratePerSecond }),
  };
}

/** Keys that work, made by somebody who has left the account or was removed from it. */
function formerKeys(
  list: readonly KeyView[],
  names: ReadonlyMap<string, string>,
  now: number,
): readonly KeyView[] {
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

function createForm(): Html {
  return html`<form method="post" action="${PATH}" class="panel row">
    <h2>New key</h2>
    ${field({ name: 'name', label: 'Name', hint: 'What will use it', maxLength: 80 })}
    ${field({ name: 'days', label: 'Expires after days', type: 'number', isOptional: true, min: 1, max: 3650 })}
    ${field({ name: 'budget', label: 'Credits per month', type: 'number', isOptional: true, min: 1, max: BUDGET_MAX })}
    ${field({ name: 'rate', label: 'Searches per second', type: 'number', isOptional: true, min: 1, max: RATE_PER_SECOND_MAX })}
    <button class="main">Create key</button>
  </form>`;
}

function newKey(key: string, publicUrl: string): Html {
  const call = `curl ${publicUrl}/search -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{"query":"viem sign typed data"}'`;
  return html`<section class="panel made" role="status">
    <h2>Your new key</h2>
    <p>Copy it now. You won’t see it again.</p>
    <p class="secret">
      <code id="new-key">${key}</code> <button type="button" data-copy="new-key">Copy</button>
    </p>
    <details>
      <summary>Try it</summary>
      <pre>${call}</pre>
    </details>
  </section>`;
}

function keyTable(list: readonly KeyView[], names: ReadonlyMap<string, string>, now: number): Html {
  const live = list.filter((key) => keyState(key, now) === 'live');
  const ended = list.filter((key) => keyState(key, now) !== 'live');
  const rowOf = (key: KeyView) => [
    html`<b>${key.name}</b><br /><code class="whole">${maskKey(key.last4)}</code>`,
    key.createdBy === undefined ? 'operator' : (names.get(key.createdBy) ?? 'a former member'),
    time(new Date(key.createdAt)),
    key.lastUsedAt === undefined ? 'never' : time(new Date(key.lastUsedAt)),
    boundsOf(key),
  ];
  return html`${table(
    'Active keys',
    ['Key', 'Created by', 'Created', 'Last used', 'Limits', ''],
    live.map((key) => [...rowOf(key), actions(key)]),
    'No keys yet. Create one above and send it with each search.',
  )}
  ${
    ended.length === 0
      ? ''
      : html`<details>
          <summary>
            ${ended.length} revoked or expired ${ended.length === 1 ? 'key' : 'keys'}
          </summary>
          ${table(
            'Revoked and expired keys',
            ['Key', 'Created by', 'Created', 'Last used', 'Limits', 'Ended'],
            ended.map((key) => [...rowOf(key), keyState(key, now)]),
            '',
          )}
        </details>`
  }`;
}

function boundsOf({ monthlyBudget, ratePerSecond, expiresAt, replacedBy }: KeyView): Html {
  const bounds = [
    monthlyBudget !== undefined &&
      html`${number(monthlyBudget)} ${monthlyBudget === 1 ? 'credit' : 'credits'} a month<br />`,
    ratePerSecond !== undefined && html`${ratePerSecond} a second<br />`,
    expiresAt !== undefined && html`until ${time(new Date(expiresAt))}<br />`,
    replacedBy !== undefined && 'being replaced',
  ];
  return bounds.some((bound) => bound !== false) ? html`${bounds}` : html`none`;
}

function actions({ id, name, replacedBy }: KeyView): Html {
  return html`<div class="actions">
    ${
      replacedBy === undefined
        ? html`<form method="post" action="${PATH}/${id}/rotate" class="inline">
            <label for="hours-${id}" class="hidden">How long the old key keeps working</label>
            <select id="hours-${id}" name="hours">
              <option value="0">at once</option>
              <option value="24" selected>24 h overlap</option>
              <option value="168">7 days overlap</option>
            </select>
            <button class="quiet" aria-label="Rotate ${name}">Rotate</button>
          </form>`
        : ''
    }
    <form method="post" action="${PATH}/${id}/revoke" class="inline">
      <button class="quiet danger" aria-label="Revoke ${name}">Revoke</button>
    </form>
  </div>`;
}
