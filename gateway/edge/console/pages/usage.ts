import type { Request, Router } from 'express';
import { toCsv } from '../../../customers/usage/csv.js';
import type { Percentiles } from '../../../customers/usage/percentiles.js';
import {
  USAGE_DIMENSIONS,
  type UsageFilter,
  type UsageRow,
} from '../../../customers/usage/report.js';
import type { Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { number, sendPage } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { percent } from '../ui/amount.js';
import { barChart } from '../ui/chart.js';
import { choiceLinks, dataTable, tableView } from '../ui/table.js';

const PATH = '/console/usage';
const HOUR_MS = 3600 * 1000;
const DAY_MS = 24 * HOUR_MS;
const RANGES = [1, 7, 30, 90] as const;

interface Range {
  readonly from: Date;
  readonly to: Date;
}

/** What a page of usage looks at; all of it is in its address. */
interface Looked {
  readonly days: (typeof RANGES)[number];
  readonly range: Range;
  /** The same length of time, right before. */
  readonly before: Range;
  readonly filter: UsageFilter;
  readonly by: 'key' | 'member' | 'outcome' | 'latency';
}

const TABS = [
  ['key', 'By key'],
  ['member', 'By member'],
  ['outcome', 'By outcome'],
  ['latency', 'By latency'],
] as const;

const PERIODS = RANGES.map(
  (days) => [String(days), days === 1 ? '24 hours' : `${days} days`] as const,
);

/** What an account searched: a chart against the period before, and one table by key, member, … */
export function usagePages(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { usage, insight, keys, team, clock } = parts;
  router.get(
    '/usage',
    guard.signedIn(async (viewer, request, response) => {
      const looked = lookedAt(request, clock.now());
      const { days, range, before, filter, by } = looked;
      const { accountId } = viewer.membership;
      const step = days === 1 ? 'hour' : 'day';
      const [spans, earlier, rows, latency, allKeys, members] = await Promise.all([
        usage.read(accountId, range, step, filter),
        usage.read(accountId, before, step, filter),
        usage.read(accountId, range, by, filter),
        insight.percentiles(range, accountId),
        keys.list(accountId),
        team.members(accountId),
      ]);
      const view = tableView(PATH, request.query);
      sendPage(response, {
        title: 'Usage',
        viewer,
        path: PATH,
        body: html`${choiceLinks('Period', 'days', PERIODS, { current: String(days), view })}
          ${filterForm(request, allKeys, members)} ${totals(spans, earlier, latency)}
          ${chartOf(looked, step, { spans, earlier })}
          ${choiceLinks('Break down', 'by', TABS, { current: by, view })} ${breakdown(by, rows)}
          <p class="downloads">
            As CSV:
            ${USAGE_DIMENSIONS.map(
              (one) => html`<a href="/console/usage.csv?days=${days}&by=${one}">${one}</a> `,
            )}
          </p>`,
      });
    }),
  );

  router.get(
    '/usage.csv',
    guard.signedIn(async (viewer, request, response) => {
      const { range, filter } = lookedAt(request, clock.now());
      const by = USAGE_DIMENSIONS.find((one) => one === request.query.by) ?? 'day';
      const rows = await usage.read(viewer.membership.accountId, range, by, filter);
      const lines = rows.map((row) => [row.name, row.searches, row.refused, row.credits]);
      response.setHeader('Content-Disposition', `attachment; filename="usage-by-${by}.csv"`);
      response
        .type('text/csv; charset=utf-8')
        .send(toCsv([[by, 'searches', 'refused', 'credits'], ...lines]));
    }),
  );
}

function textOf(request: Request, name: string): string {
  const value = request.query[name];
  return typeof value === 'string' ? value.slice(0, 100) : '';
}

function lookedAt(request: Request, now: number): Looked {
  const days = RANGES.find((one) => String(one) === request.query.days) ?? 30;
  const to = new Date(now + 1);
  // Whole hours or days, of which the last is still running.
  const stepMs = days === 1 ? HOUR_MS : DAY_MS;
  const spans = (days * DAY_MS) / stepMs;
  const from = new Date((Math.floor(now / stepMs) - spans + 1) * stepMs);
  const [keyId, personId] = [textOf(request, 'key'), textOf(request, 'member')];
  return {
    days,
    range: { from, to },
    before: { from: new Date(from.getTime() - spans * stepMs), to: from },
    filter: { ...(keyId && { keyId }), ...(personId && { personId }) },
    by: TABS.find(([name]) => name === request.query.by)?.[0] ?? 'key',
  };
}

/** Filters that are not a range: kept in the address, with everything else that is there. */
function filterForm(
  request: Request,
  keys: readonly { id: string; name: string }[],
  members: readonly { userId: string; name: string }[],
): Html {
  const choice = (name: string, all: string, options: readonly (readonly [string, string])[]) =>
    html`<div class="field">
      <label for="${name}">${all === 'All keys' ? 'Key' : 'Member'}</label>
      <select id="${name}" name="${name}">
        <option value="">${all}</option>
        ${options.map(
          ([id, text]) =>
            html`<option value="${id}" ${id === textOf(request, name) ? html`selected` : ''}>
              ${text}
            </option>`,
        )}
      </select>
    </div>`;
  const kept = ['days', 'by'].filter((name) => textOf(request, name) !== '');
  return html`<form method="get" action="${PATH}" class="row">
    ${kept.map((name) => html`<input type="hidden" name="${name}" value="${textOf(request, name)}" />`)}
    ${choice(
      'key',
      'All keys',
      keys.map(({ id, name }) => [id, name]),
    )}
    ${choice(
      'member',
      'All members',
      members.map(({ userId, name }) => [userId, name]),
    )}
    <button>Filter</button>
  </form>`;
}

type Sums = Record<'searches' | 'refused' | 'credits', number>;

function sumsOf(rows: readonly UsageRow[]): Sums {
  const sum = (pick: (row: UsageRow) => number) => rows.reduce((all, row) => all + pick(row), 0);
  return {
    searches: sum((row) => row.searches),
    refused: sum((row) => row.refused),
    credits: sum((row) => row.credits),
  };
}

function totals(
  rows: readonly UsageRow[],
  earlier: readonly UsageRow[],
  latency: Percentiles | undefined,
): Html {
  const [now, then] = [sumsOf(rows), sumsOf(earlier)];
  const bound = (ms: number | undefined) => (ms === undefined ? '–' : `≤ ${number(ms)}`);
  return html`<dl class="figures">
    <div>
      <dt>Searches</dt>
      <dd>${number(now.searches)}<small>${changeOf(now.searches, then.searches)}</small></dd>
    </div>
    <div>
      <dt>Refused, free</dt>
      <dd>${number(now.refused)}<small>${percent(now.refused, now.searches)} of all</small></dd>
    </div>
    <div>
      <dt>Credits spent</dt>
      <dd>${number(now.credits)}<small>${changeOf(now.credits, then.credits)}</small></dd>
    </div>
    <div>
      <dt>p50 · p95 · p99, ms</dt>
      <dd>
        ${bound(latency?.p50)}<small
          >${bound(latency?.p95)} · ${bound(latency?.p99)}, every key</small
        >
      </dd>
    </div>
  </dl>`;
}

/** Against the period before, in words. */
function changeOf(now: number, then: number): string {
  if (then === 0) return now === 0 ? 'none before, either' : 'none in the period before';
  const change = Math.round((100 * (now - then)) / then);
  if (change === 0) return 'as many as before';
  return `${change > 0 ? '+' : '−'}${number(Math.abs(change))} % against before`;
}

function chartOf(
  { range, before }: Looked,
  step: 'hour' | 'day',
  { spans, earlier }: { spans: readonly UsageRow[]; earlier: readonly UsageRow[] },
): Html {
  const names = spanNames(range, step);
  const rowOf = (rows: readonly UsageRow[]) => {
    const byName = new Map(rows.map((row) => [row.name, row]));
    return (name: string) => byName.get(name);
  };
  const [now, then] = [rowOf(spans), rowOf(earlier)];
  const earlierNames = spanNames(before, step);
  return barChart({
    title: `Searches by ${step}, UTC`,
    spans: names,
    series: [
      {
        name: 'answered',
        values: names.map((name) => (now(name)?.searches ?? 0) - (now(name)?.refused ?? 0)),
      },
      { name: 'refused', values: names.map((name) => now(name)?.refused ?? 0) },
    ],
    before: names.map((_, at) => then(earlierNames[at] ?? '')?.searches ?? 0),
    isLastOpen: true,
  });
}

/** Every hour or day of a range, so that a quiet one is a gap in the chart and not left out. */
function spanNames({ from, to }: Range, by: 'hour' | 'day'): readonly string[] {
  const stepMs = by === 'hour' ? HOUR_MS : DAY_MS;
  const first = Math.floor(from.getTime() / stepMs);
  const last = Math.floor((to.getTime() - 1) / stepMs);
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const text = new Date((first + index) * stepMs).toISOString();
    return by === 'hour' ? text : text.slice(0, 10);
  });
}

function breakdown(by: Looked['by'], rows: readonly UsageRow[]): Html {
  const [, title] = TABS.find(([name]) => name === by) ?? ['', ''];
  const all = sumsOf(rows).searches;
  // From a code to the log of its requests.
  const nameOf = (name: string) =>
    by === 'outcome'
      ? html`<a href="/console/requests?outcome=${encodeURIComponent(name)}">${name}</a>`
      : name;
  return dataTable({
    caption: title,
    columns: [
      { head: title.replace('By ', '').replace(/^./, (first) => first.toUpperCase()) },
      { head: 'Searches' },
      { head: 'Share', isNumber: true },
      { head: 'Refused' },
      { head: 'Credits' },
    ],
    rows: rows.map((row) => [
      nameOf(row.name),
      row.searches,
      percent(row.searches, all),
      row.refused,
      row.credits,
    ]),
    empty: 'No searches in this period.',
  });
}
