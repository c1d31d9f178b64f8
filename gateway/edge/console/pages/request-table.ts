import type { InspectedRequest } from '../../../customers/usage/report.js';
import { html, type Html } from '../html.js';
import { number } from '../page.js';
import { dataTable } from '../ui/table.js';
import { ago } from '../ui/when.js';

/** Searches, the newest first, each leading to all that is known of it. */
export function requestTable(
  caption: string,
  requests: readonly InspectedRequest[],
  { now, empty }: { readonly now: number; readonly empty: Html },
): Html {
  return dataTable({
    caption,
    columns: [
      { head: 'When' },
      { head: 'Query' },
      { head: 'Outcome' },
      { head: 'Results', isNumber: true },
      { head: 'Took', isNumber: true },
      { head: 'Key' },
    ],
    rows: requests.map((one) => [
      html`<a href="/console/requests/${one.id}">${ago(one.at, now)}</a>`,
      one.query === ''
        ? html`<small>invalid request</small>`
        : html`<span class="clip">${one.query}</span>`,
      html`<span class="outcome ${one.outcome === 'ok' ? 'good' : 'bad'}">${one.outcome}</span>`,
      resultsOf(one),
      `${number(one.latencyMs)} ms`,
      one.keyName,
    ]),
    empty,
  });
}

/** How many pages were found; a search that found none stands out from one that was refused. */
function resultsOf({ outcome, results }: InspectedRequest): Html | number {
  if (outcome !== 'ok') return html`–`;
  return results === 0 ? html`<span class="badge">no results</span>` : results;
}
