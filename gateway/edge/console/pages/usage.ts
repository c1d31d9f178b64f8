import type { Request, Router } from 'express';
import { toCsv } from '../../../customers/usage/csv.js';
import { USAGE_DIMENSIONS, type UsageRow } from '../../../customers/usage/report.js';
import type { Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { number, sendPage, table } from '../page.js';
import type { ConsoleParts } from '../parts.js';

const DAY_MS = 24 * 3600 * 1000;
const RANGES = [1, 7, 30, 90] as const;

/** What an account searched: by day as a chart, and by key, member, outcome and latency. */
export function usagePages(router: Router, { usage, clock }: ConsoleParts, guard: Guard): void {
  const rangeOf = (request: Request) => {
    const days = RANGES.find((one) => String(one) === request.query.days) ?? 30;
    const to = new Date(clock.now() + 1);
    return { days, range: { from: new Date(to.getTime() - days * DAY_MS), to } };
  };

  router.get(
    '/usage',
    guard.signedIn(async (viewer, request, response) => {
      const { days, range } = rangeOf(request);
      const { accountId } = viewer.membership;
      const byTime = days === 1 ? 'hour' : 'day';
      const read = (by: 'key' | 'member' | 'outcome' | 'latency') =>
        usage.read(accountId, range, by);
      const [spans, keys, members, outcomes, latencies] = await Promise.all([
        usage.read(accountId, range, byTime),
        read('key'),
        read('member'),
        read('outcome'),
        read('latency'),
      ]);
      const names = spanNames(range, byTime);
      sendPage(response, {
        title: 'Usage',
        viewer,
        path: '/console/usage',
        body: html`${rangeLinks(days)} ${totals(spans)}
          ${chart(`Searches by ${byTime}, UTC`, names, spans)} ${breakdown('By key', 'Key', keys)}
          ${breakdown('By member', 'Member', members)}
          ${breakdown('By outcome', 'Outcome', outcomes)}
          ${breakdown('By latency', 'Latency', latencies)}
          <p class="downloads">
            As CSV:
            ${USAGE_DIMENSIONS.map(
              (by) => html`<a href="/console/usage.csv?days=${days}&by=${by}">${by}</a> `,
            )}
          </p>`,
      });
    }),
  );

  router.get(
    '/usage.csv',
    guard.signedIn(async (viewer, request, response) => {
      const { range } = rangeOf(request);
      const by = USAGE_DIMENSIONS.find((one) => one === request.query.by) ?? 'day';
      const rows = await usage.read(viewer.membership.accountId, range, by);
      const lines = rows.map((row) => [row.name, row.searches, row.refused, row.credits]);
      response.setHeader('Content-Disposition', `attachment; filename="usage-by-${by}.csv"`);
      response
        .type('text/csv; charset=utf-8')
        .send(toCsv([[by, 'searches', 'refused', 'credits'], ...lines]));
    }),
  );
}

function rangeLinks(current: number): Html {
  return html`<p class="ranges">
    ${RANGES.map(
      (days) =>
        html`<a
          href="/console/usage?days=${days}"
          ${days === current ? html`aria-current="true"` : ''}
          >${days === 1 ? '24 hours' : `${days} days`}</a
        > `,
    )}
  </p>`;
}

function totals(rows: readonly UsageRow[]): Html {
  const sum = (pick: (row: UsageRow) => number) =>
    rows.reduce((total, row) => total + pick(row), 0);
  return html`<dl class="figures">
    <div>
      <dt>Searches</dt>
      <dd>${number(sum((row) => row.searches))}</dd>
    </div>
    <div>
      <dt>Refused, free</dt>
      <dd>${number(sum((row) => row.refused))}</dd>
    </div>
    <div>
      <dt>Credits spent</dt>
      <dd>${number(sum((row) => row.credits))}</dd>
    </div>
  </dl>`;
}

function breakdown(title: string, head: string, rows: readonly UsageRow[]): Html {
  return html`<section>
    <h2>${title}</h2>
    ${table(
      title,
      [head, 'Searches', 'Refused', 'Credits'],
      rows.map((row) => [row.name, row.searches, row.refused, row.credits]),
      'No searches in this period.',
    )}
  </section>`;
}

/** Every hour or day of a range, so that a quiet one is a gap in the chart and not left out. */
function spanNames({ from, to }: { from: Date; to: Date }, by: 'hour' | 'day'): readonly string[] {
  const stepMs = by === 'hour' ? 3600 * 1000 : DAY_MS;
  const first = Math.floor(from.getTime() / stepMs);
  const last = Math.floor(to.getTime() / stepMs);
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const text = new Date((first + index) * stepMs).toISOString();
    return by === 'hour' ? text : text.slice(0, 10);
  });
}

const CHART = { width: 720, height: 160 } as const;

/** A bar chart as SVG; the tables below it and its title say the same in words. */
function chart(title: string, names: readonly string[], rows: readonly UsageRow[]): Html {
  const byName = new Map(rows.map((row) => [row.name, row]));
  const top = Math.max(1, ...rows.map((row) => row.searches));
  const step = CHART.width / names.length;
  const bar = (name: string, index: number): Html => {
    const { searches = 0, refused = 0 } = byName.get(name) ?? {};
    const [high, low] = [(searches / top) * CHART.height, (refused / top) * CHART.height];
    const base = CHART.height;
    const [x, width] = [index * step + 1, Math.max(1, step - 2)];
    return html`<g>
      <title>${name}: ${number(searches)} searches, ${number(refused)} refused</title>
      <rect class="bar" x="${x}" y="${base - high}" width="${width}" height="${high}" />
      <rect class="bar refused" x="${x}" y="${base - low}" width="${width}" height="${low}" />
    </g>`;
  };
  const label = (name: string) => (name.length > 10 ? name.slice(11, 16) : name.slice(5));
  return html`<figure>
    <svg
      viewBox="0 0 ${CHART.width} ${CHART.height}"
      preserveAspectRatio="none"
      role="img"
      aria-label="${title}; peak ${number(top)}"
    >
      <line class="axis" x1="0" x2="${CHART.width}" y1="0" y2="0" />
      ${names.map(bar)}
      <line class="axis" x1="0" x2="${CHART.width}" y1="${CHART.height}" y2="${CHART.height}" />
    </svg>
    <div class="axis labels" aria-hidden="true">
      <span>${label(names[0] ?? '')}</span><span>peak ${number(top)}</span
      ><span>${label(names.at(-1) ?? '')}</span>
    </div>
    <figcaption>
      ${title}. <span class="key all"></span> all <span class="key refused"></span> refused
    </figcaption>
  </figure>`;
}
