import type { Router } from 'express';
import { usdcUnits } from '../../../ground/domain/units.js';
import type { Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { facts, field, notice, sendPage } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { usd } from '../ui/amount.js';
import { copyBlock, dialogForm, dialogLink, emptyState, select } from '../ui/ask.js';
import { barChart, sparkline, usedBar } from '../ui/chart.js';
import { chips, dataTable, pager, sorted, tableView } from '../ui/table.js';
import { ago } from '../ui/when.js';

const PATH = '/console/parts';
const COLOURS = [
  'paper',
  'sheet',
  'rule',
  'faint',
  'ink',
  'mark',
  'link',
  'ochre',
  'third',
  'good',
  'lit',
];

/** The design system: every part that the pages are made of, once, on a page of the service. */
export function partsPage(router: Router, { clock }: ConsoleParts, guard: Guard): void {
  router.get(
    '/parts',
    guard.signedIn((viewer, request, response) => {
      const view = tableView(PATH, request.query);
      sendPage(response, {
        title: 'Parts',
        viewer,
        path: PATH,
        actions: dialogLink(`${PATH}/dialog`, 'Open a dialog', 'main'),
        body: html`<p>
            What the pages are made of, each part once. Text is Geist, figures are Geist Mono.
            Spaces are multiples of 4 pixels. The accent marks what asks for action and what went
            wrong.
          </p>
          ${type()} ${colours()} ${controls()} ${words(clock.now())} ${charts()}
          <h2>Table</h2>
          ${chips(
            'Filter by size',
            [
              { name: 'size', value: 'small', label: 'Small' },
              { name: 'size', value: 'large', label: 'Large' },
            ],
            request.query,
            view,
          )}
          ${dataTable({
            caption: 'Examples',
            view,
            columns: [
              { head: 'Name', sort: 'name' },
              { head: 'Searches', sort: 'searches' },
            ],
            rows: sorted(rowsOf(request.query.size), view, {
              name: ({ name }) => name,
              searches: ({ searches }) => searches,
            }).map(({ name, searches }) => [name, searches]),
            empty: 'Nothing passes this filter.',
          })}
          ${pager(view, view.page < 3)}`,
      });
      return Promise.resolve();
    }),
  );
  router.get(
    '/parts/dialog',
    guard.signedIn((viewer, _request, response) => {
      const body = dialogForm({
        action: PATH,
        body: html`<p>Each dialog is a page of its own, so it works without a script.</p>
          ${field({ name: 'example', label: 'A field', hint: 'With a hint', isOptional: true })}`,
        does: 'Do it',
        back: PATH,
      });
      sendPage(response, { title: 'A dialog', viewer, path: PATH, body });
      return Promise.resolve();
    }),
  );
}

function rowsOf(size: unknown): readonly { name: string; searches: number }[] {
  const all = [
    { name: 'nightly', searches: 740 },
    { name: 'agent', searches: 12_481 },
    { name: 'docs', searches: 3 },
  ];
  return all.filter(({ searches }) => size === undefined || searches > 1000 === (size === 'large'));
}

const type = (): Html =>
  html`<h2>Type</h2>
    <p class="type-34">34 Page titles</p>
    <p class="type-24">24 Dialogs and figures</p>
    <p class="type-18">18 Sections and results</p>
    <p>15 Text, at a line height of 1.45</p>
    <p class="type-13">13 Heads, hints and <code>code</code></p>`;

const colours = (): Html =>
  html`<h2>Colour</h2>
    <div class="swatches">
      ${COLOURS.map(
        (name) =>
          html`<div>
            <svg aria-hidden="true"><rect class="fill-${name}" width="100%" height="100%" /></svg>
            <code>${name}</code>
          </div>`,
      )}
    </div>`;

const controls = (): Html =>
  html`<h2>Controls</h2>
    <p class="buttons">
      <button type="button" class="main">Primary</button><button type="button">Plain</button>
      <button type="button" class="danger">Danger</button>
      <button type="button" class="quiet">Small</button>
      <button type="button" disabled>Busy</button>
    </p>
    <div class="columns">
      <div>
        ${field({ name: 'text', label: 'Field', hint: 'With a hint that is tied to it' })}
        ${select({
          name: 'choice',
          label: 'Select',
          options: [
            ['a', 'One'],
            ['b', 'Another'],
          ],
        })}
      </div>
      <div>
        ${notice('good', 'Something worked.')} ${notice('bad', 'Something needs you.')}
        <p><span class="badge">badge</span></p>
        <span class="skeleton" aria-hidden="true"></span>
      </div>
    </div>
    ${copyBlock('parts-code', 'an example call', 'curl https://search.example/')}
    ${emptyState('Nothing is here yet. An empty state names the next step.', html`<a href="${PATH}">The next step</a>`)}`;

const words = (now: number): Html =>
  html`<h2>Amounts and times</h2>
    ${facts([
      ['Amount', usd(usdcUnits(50n))],
      ['Larger', usd(usdcUnits(41_200_000n))],
      ['Time', ago(new Date(now - 5 * 3600 * 1000), now)],
      ['Sparkline', sparkline([3, 5, 2, 8, 13, 7, 9], '47 searches in 7 days')],
      ['Budget', usedBar(740, 1000, '740 of 1,000 used')],
    ])}`;

function charts(): Html {
  const spans = Array.from({ length: 14 }, (_, at) => `2026-11-${String(at + 8).padStart(2, '0')}`);
  const wave = spans.map((_, at) => Math.round(400 + 300 * Math.sin(at / 2)));
  return html`<h2>Chart</h2>
    ${barChart({
      title: 'Searches by day, UTC',
      spans,
      series: [
        { name: 'answered', values: wave },
        { name: 'refused', values: wave.map((value) => Math.round(value / 9)) },
      ],
      before: wave.map((value) => Math.round(value * 0.8)),
      isLastOpen: true,
    })}`;
}
