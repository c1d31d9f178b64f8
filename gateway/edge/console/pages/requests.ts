import type { Request, Router } from 'express';
import { keyState } from '../../../customers/keys/keys.js';
import type { InspectedRequest, RequestFilter } from '../../../customers/usage/report.js';
import { idOf } from '../form.js';
import { sayNotFound, type Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { facts, number, sendPage } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { copyBlock, emptyState } from '../ui/ask.js';
import { chips, pager, tableView, type TableView } from '../ui/table.js';
import { callsOf } from './request-calls.js';
import { requestTable } from './request-table.js';

const PATH = '/console/requests';
const PAGE_ROWS = 50;
const PAGES_MAX = 200;
const SLOW_MS = 250;

/** The request inspector: searches of the last seven days by filter, and any one by its id. */
export function requestPages(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { usage, keys, clock } = parts;

  router.get(
    '/requests',
    guard.signedIn(async (viewer, request, response) => {
      const id = queryText(request, 'id');
      if (id !== '') {
        response.redirect(303, `${PATH}/${encodeURIComponent(id)}`);
        return;
      }
      const { accountId } = viewer.membership;
      const view = tableView(PATH, request.query);
      const filter = filterOf(request, view);
      // One more than is shown tells whether there is a page after this one.
      const [found, allKeys] = await Promise.all([
        usage.requests(accountId, { ...filter, count: PAGE_ROWS + 1 }),
        keys.list(accountId),
      ]);
      const live = allKeys.filter((key) => keyState(key, clock.now()) === 'live');
      sendPage(response, {
        title: 'Requests',
        viewer,
        path: PATH,
        body: html`${filterForm(request, live)}
        ${chips(
          'Filters',
          [
            { name: 'outcome', value: 'ok', label: 'Answered' },
            { name: 'outcome', value: 'refused', label: 'Refused' },
            { name: 'outcome', value: 'rate_limited', label: 'Rate limited' },
            { name: 'found', value: 'nothing', label: 'No results' },
            { name: 'slow', value: 'yes', label: `Slower than ${SLOW_MS} ms` },
          ],
          request.query,
          view,
        )}
        ${requestTable('Searches', found.slice(0, PAGE_ROWS), { now: clock.now(), empty: emptyOf(view) })}
        ${pager(view, found.length > PAGE_ROWS && view.page < PAGES_MAX)}`,
      });
    }),
  );

  router.get(
    '/requests/:id',
    guard.signedIn(async (viewer, request, response) => {
      const found = await usage.inspect(viewer.membership.accountId, idOf(request));
      if (!found) {
        sayNotFound(viewer, response);
        return;
      }
      sendPage(response, {
        title: 'One request',
        viewer,
        path: PATH,
        ...(found.query !== '' && { actions: replayLink(found) }),
        body: html`${factsOf(found)} ${found.query === '' ? '' : calls(found, parts.publicUrl)}
          <p><a href="${PATH}">All requests</a></p>`,
      });
    }),
  );
}

function queryText(request: Request, name: string): string {
  const value = request.query[name];
  return typeof value === 'string' ? value.trim().slice(0, 100) : '';
}

function filterOf(request: Request, view: TableView): Omit<RequestFilter, 'count'> {
  const [outcome, key, text] = ['outcome', 'key', 'q'].map((name) => queryText(request, name));
  return {
    offset: (Math.min(view.page, PAGES_MAX) - 1) * PAGE_ROWS,
    ...(outcome && { outcome }),
    ...(key && { keyId: key }),
    ...(text && { text }),
    ...(queryText(request, 'found') === 'nothing' && { isEmpty: true }),
    ...(queryText(request, 'slow') === 'yes' && { slowerThanMs: SLOW_MS }),
  };
}

/** What cannot be a chip: words, a key, an id. Keeps the chips that are set. */
function filterForm(request: Request, keys: readonly { id: string; name: string }[]): Html {
  const kept = ['outcome', 'found', 'slow'].filter((name) => queryText(request, name) !== '');
  const current = queryText(request, 'key');
  return html`<form method="get" action="${PATH}" class="row" role="search">
    ${kept.map((name) => html`<input type="hidden" name="${name}" value="${queryText(request, name)}" />`)}
    <div class="field">
      <label for="q">Query holds</label>
      <input id="q" name="q" type="search" value="${queryText(request, 'q')}" maxlength="100" />
    </div>
    <div class="field">
      <label for="key">Key</label>
      <select id="key" name="key">
        <option value="">All keys</option>
        ${keys.map(
          ({ id, name }) =>
            html`<option value="${id}" ${id === current ? html`selected` : ''}>${name}</option>`,
        )}
      </select>
    </div>
    <div class="field">
      <label for="id">Request id</label>
      <input id="id" name="id" class="mono" maxlength="100" placeholder="X-Request-Id" />
    </div>
    <button>Filter</button>
  </form>`;
}

function emptyOf(view: TableView): Html {
  return view.href({}) === PATH
    ? emptyState(
        'No searches in the last seven days.',
        html`<a href="/console/playground">Search in the playground</a>`,
      )
    : emptyState(
        'No search of the last seven days passes these filters.',
        html`<a href="${PATH}">Remove all filters</a>`,
      );
}

function replayLink({ query, maxResults, maxDescriptionLength }: InspectedRequest): Html {
  const asked = { q: query, results: String(maxResults), length: String(maxDescriptionLength) };
  const address = `/console/playground?${new URLSearchParams(asked).toString()}`;
  return html`<a class="button main" href="${address}">Open in the playground</a>`;
}

function factsOf(one: InspectedRequest): Html {
  const isOk = one.outcome === 'ok';
  return facts([
    ['Request id', html`<code>${one.id}</code>`],
    ['Time, UTC', html`<time datetime="${one.at.toISOString()}">${one.at.toISOString()}</time>`],
    ['Key', one.keyName],
    [
      'Query',
      one.query === '' ? 'none: the body wasn’t a valid search' : html`<b>${one.query}</b>`,
    ],
    ['Outcome', html`<span class="outcome ${isOk ? 'good' : 'bad'}">${one.outcome}</span>`],
    [
      'Results',
      isOk ? `${one.results} of at most ${one.maxResults}` : 'none: the search was refused',
    ],
    ['Took', `${number(one.latencyMs)} ms`],
    ['Charge', one.credits === 0 ? 'none' : '1 credit'],
  ]);
}

function calls(one: InspectedRequest, publicUrl: string): Html {
  return html`<h2>Repeat this search</h2>
    ${Object.entries(callsOf(one, publicUrl)).map(
      ([language, text]) =>
        html`<section class="call">
          <h3>${language}</h3>
          ${copyBlock(`call-${language}`, `the ${language} call`, text)}
        </section>`,
    )}`;
}
