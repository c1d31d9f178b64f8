import type { Request, Response, Router } from 'express';
import type { Keys, KeyView } from '../../../customers/keys/keys.js';
import { keyState } from '../../../customers/keys/keys.js';
import { maskKey } from '../../../customers/keys/format.js';
import type { Member, TeamChange } from '../../../customers/people/team.js';
import { idOf, textOf } from '../form.js';
import type { Guard } from '../guard.js';
import { html } from '../html.js';
import { notice, sendPage, table, time, type Viewer } from '../page.js';
import type { ConsoleParts } from '../parts.js';

/** Why somebody can't go. */
export const LAST_ADMIN = 'An account needs an admin. Make someone else an admin first.';

/** What happens to the keys that a member made, which go on working without them. */
type KeysChoice = 'revoke' | 'keep' | 'not-asked';

/**
 * Removes a member, or lets one leave. Keys belong to the account and go on working, and who made one
 * may know it: so the question comes first, and the Admin is told afterwards.
 */
export function removeMember(
  router: Router,
  { team, keys, clock }: ConsoleParts,
  guard: Guard,
  say: (viewer: Viewer, response: Response, change: TeamChange, done: string) => unknown,
): void {
  /** Removes somebody, after a question where keys of theirs work; undefined while it is open. */
  const remove = async (viewer: Viewer, id: string, request: Request, response: Response) => {
    const { accountId } = viewer.membership;
    const choice = choiceOf(textOf(request, 'keys', 20));
    const theirs = await workingKeysOf(keys, accountId, id, clock.now());
    const member = (await team.members(accountId)).find(({ userId }) => userId === id);
    if (member && theirs.length > 0 && choice === 'not-asked') {
      askAboutKeys(viewer, response, member, theirs);
      return undefined;
    }
    const change = await team.remove(accountId, id);
    const left = change === 'changed' ? await workingKeysOf(keys, accountId, id, clock.now()) : [];
    if (choice === 'revoke') await Promise.all(left.map((key) => keys.revoke(accountId, key.id)));
    return { change, done: doneText(left.length, choice) };
  };

  router.post(
    '/leave',
    guard.signedIn(async (viewer, request, response) => {
      const left = await remove(viewer, viewer.session.person.id, request, response);
      if (!left) return;
      if (left.change !== 'last-admin') {
        response.redirect(303, '/console');
        return;
      }
      sendPage(response, {
        title: 'You can’t leave yet',
        viewer,
        status: 409,
        body: notice('bad', LAST_ADMIN),
      });
    }),
  );

  router.post(
    '/team/members/:id/remove',
    guard.admin(async (viewer, request, response) => {
      const id = idOf(request);
      const removed = await remove(viewer, id, request, response);
      if (!removed) return;
      if (removed.change === 'changed' && id === viewer.session.person.id) {
        response.redirect(303, '/console');
        return;
      }
      await say(viewer, response, removed.change, removed.done);
    }),
  );
}

function choiceOf(text: string): KeysChoice {
  return text === 'revoke' || text === 'keep' ? text : 'not-asked';
}

function doneText(count: number, choice: KeysChoice): string {
  const removed = 'The member was removed.';
  if (count === 0) return removed;
  const which = count === 1 ? 'The key they created' : `The ${count} keys they created`;
  if (choice === 'revoke') return `${removed} ${which} ${count === 1 ? 'was' : 'were'} revoked.`;
  return `${removed} ${which} still ${count === 1 ? 'works' : 'work'}.`;
}

/** The keys that somebody made for an account and that work now. */
async function workingKeysOf(
  keys: Keys,
  accountId: string,
  personId: string,
  now: number,
): Promise<readonly KeyView[]> {
  const all = await keys.list(accountId);
  return all.filter((key) => key.createdBy === personId && keyState(key, now) === 'live');
}

function askAboutKeys(
  viewer: Viewer,
  response: Response,
  { userId, name }: Member,
  theirs: readonly KeyView[],
): void {
  const isOwn = userId === viewer.session.person.id;
  const verb = isOwn ? 'Leave' : 'Remove';
  sendPage(response, {
    title: isOwn ? 'Leave this account?' : `Remove ${name}?`,
    viewer,
    path: isOwn ? '/console/profile' : '/console/team',
    body: html`<p>
        ${isOwn ? 'You' : name} created keys that still work. They keep working until you revoke
        them, and ${isOwn ? 'you' : name} may still have a copy.
      </p>
      ${table(
        'Active keys',
        ['Key', 'Created', 'Last used'],
        theirs.map((key) => [
          html`<b>${key.name}</b><br /><code class="whole">${maskKey(key.last4)}</code>`,
          time(new Date(key.createdAt)),
          key.lastUsedAt === undefined ? 'never' : time(new Date(key.lastUsedAt)),
        ]),
        '',
      )}
      <form
        method="post"
        action="${isOwn ? '/console/leave' : `/console/team/members/${userId}/remove`}"
        class="panel"
      >
        <button class="main danger" name="keys" value="revoke">${verb} and revoke the keys</button>
        <button name="keys" value="keep">${verb} and keep the keys</button>
        <a href="${isOwn ? '/console/profile' : '/console/team'}">Cancel</a>
      </form>`,
  });
}
