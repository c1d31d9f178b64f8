import { maskKey } from '../../../customers/keys/format.js';
import { keyState, type KeyView } from '../../../customers/keys/keys.js';
import type { KeyDay } from '../../../customers/usage/insight.js';
import { html, type Html } from '../html.js';
import { number, time } from '../page.js';
import { counted } from '../ui/amount.js';
import { dialogLink, emptyState } from '../ui/ask.js';
import { sparkline, usedBar } from '../ui/chart.js';
import { dataTable, sorted, type TableView } from '../ui/table.js';
import { ago, day } from '../ui/when.js';
import { KEYS_PATH as PATH } from './key-forms.js';

/** Everything that the table of keys says. */
export interface KeyFacts {
  readonly list: readonly KeyView[];
  /** Names of the members by their ids. */
  readonly names: ReadonlyMap<string, string>;
  readonly days: readonly KeyDay[];
  /** Credits used this month by the id of a key with a budget. */
  readonly used: ReadonlyMap<string, number>;
  readonly now: number;
}

export const SPARK_DAYS = 14;
const DAY_MS = 24 * 3600 * 1000;

/** Keys that work, in order and to be changed; and those that no longer do, folded. */
export function keyTables(facts: KeyFacts, view: TableView): Html {
  const { list, now } = facts;
  const live = list.filter((key) => keyState(key, now) === 'live');
  const ended = list.filter((key) => keyState(key, now) !== 'live');
  const ordered = sorted(live, view, {
    name: ({ name }) => name.toLowerCase(),
    used: ({ lastUsedAt }) => lastUsedAt ?? 0,
    searches: (key) => daysOf(facts, key).reduce((sum, one) => sum + one, 0),
  });
  return html`${dataTable({
    caption: 'Active keys',
    view,
    columns: [
      { head: 'Key', sort: 'name' },
      { head: 'Last used', sort: 'used' },
      { head: `Searches, ${SPARK_DAYS} days`, sort: 'searches' },
      { head: 'Budget' },
      { head: 'Limits' },
      { head: '' },
    ],
    rows: ordered.map((key) => [
      nameOf(key, facts),
      key.lastUsedAt === undefined ? 'never' : ago(new Date(key.lastUsedAt), now),
      searchesOf(key, facts),
      budgetOf(key, facts),
      limitsOf(key),
      actions(key),
    ]),
    empty: emptyState(
      'A key lets a program search on this account. Create one, then send it with each search.',
      dialogLink(`${PATH}/new`, 'Create your first key'),
    ),
  })}
  ${ended.length > 0 && endedTable(ended, facts)}`;
}

function endedTable(ended: readonly KeyView[], facts: KeyFacts): Html {
  return html`<details>
    <summary>${counted(ended.length, 'revoked or expired key')}</summary>
    ${dataTable({
      caption: 'Revoked and expired keys',
      columns: [{ head: 'Key' }, { head: 'Created' }, { head: 'Last used' }, { head: 'Ended' }],
      rows: ended.map((key) => [
        nameOf(key, facts),
        time(new Date(key.createdAt)),
        key.lastUsedAt === undefined ? 'never' : ago(new Date(key.lastUsedAt), facts.now),
        keyState(key, facts.now),
      ]),
      empty: '',
    })}
  </details>`;
}

function nameOf({ name, last4, createdBy }: KeyView, { names }: KeyFacts): Html {
  const by = createdBy === undefined ? 'operator' : (names.get(createdBy) ?? 'a former member');
  return html`<b>${name}</b><br /><code class="whole">${maskKey(last4)}</code>
    <small>by ${by}</small>`;
}

/** Searches of the last days, oldest first. */
function daysOf({ days, now }: KeyFacts, { id }: KeyView): readonly number[] {
  const today = Math.floor(now / DAY_MS);
  const counts = new Map(
    days.filter(({ keyId }) => keyId === id).map(({ day, searches }) => [day, searches]),
  );
  return Array.from(
    { length: SPARK_DAYS },
    (_, at) => counts.get(today - SPARK_DAYS + 1 + at) ?? 0,
  );
}

function searchesOf(key: KeyView, facts: KeyFacts): Html {
  const days = daysOf(facts, key);
  const sum = days.reduce((total, one) => total + one, 0);
  const label = `${counted(days.at(-1) ?? 0, 'search', 'searches')} today, ${number(sum)} in ${SPARK_DAYS} days`;
  const text = sum === 0 ? 'none' : `${number(sum)}, ${number(days.at(-1) ?? 0)} today`;
  return html`${sparkline(days, label)}<small>${text}</small>`;
}

function budgetOf({ id, monthlyBudget }: KeyView, { used }: KeyFacts): Html {
  if (monthlyBudget === undefined) return html`<small>none</small>`;
  const spent = used.get(id) ?? 0;
  const label = `${number(spent)} of ${counted(monthlyBudget, 'credit')} used this month`;
  return html`${usedBar(spent, monthlyBudget, label)}
    <small>${number(spent)} of ${number(monthlyBudget)} this month</small>`;
}

function limitsOf({ ratePerSecond, expiresAt, replacedBy }: KeyView): Html {
  const bounds = [
    ratePerSecond !== undefined && html`${ratePerSecond} a second<br />`,
    expiresAt !== undefined && html`until ${day(new Date(expiresAt - 1))}<br />`,
    replacedBy !== undefined && 'being replaced',
  ];
  return html`<small>${bounds.some((bound) => bound !== false) ? bounds : 'none'}</small>`;
}

function actions({ id, name, replacedBy }: KeyView): Html {
  const labelled = (verb: string) => html`${verb}<span class="hidden"> ${name}</span>`;
  // A key that is on its way out can only be ended sooner.
  if (replacedBy !== undefined) {
    return html`<form method="post" action="${PATH}/${id}/revoke" class="inline">
      <button class="quiet danger">${labelled('Revoke')}</button>
    </form>`;
  }
  return html`<div class="actions">
    ${dialogLink(`${PATH}/${id}/edit`, labelled('Edit'), 'quiet')}
    ${dialogLink(`${PATH}/${id}/rotate`, labelled('Rotate'), 'quiet')}
    ${dialogLink(`${PATH}/${id}/revoke`, labelled('Revoke'), 'danger')}
  </div>`;
}
