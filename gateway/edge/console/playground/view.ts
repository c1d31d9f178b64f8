import type { SearchResponse } from '../../../../search-core/contract.js';
import type { SearchReply } from '../../../search/reply.js';
import { formatUsd, type UsdcUnits } from '../../../ground/domain/units.js';
import { html, type Html } from '../html.js';
import { field, number } from '../page.js';
import { callsOf } from '../pages/request-calls.js';
import { counted } from '../ui/amount.js';
import { copyBlock } from '../ui/ask.js';
import { bareWords, hits } from '../ui/hits.js';
import { adviceOn, shorterQueries } from './coach.js';

export const PLAYGROUND_PATH = '/console/playground';

/** What was asked in the playground: all of it is in the permalink. */
export interface Asked {
  readonly query: string;
  readonly maxResults: number;
  readonly maxDescriptionLength: number;
}

/** Where the same query is filled in again; opening it costs nothing. */
export function permalink({ query, maxResults, maxDescriptionLength }: Asked): string {
  const parts = { q: query, results: String(maxResults), length: String(maxDescriptionLength) };
  return `${PLAYGROUND_PATH}?${new URLSearchParams(parts).toString()}`;
}

/**
 * The form of a search. `once` makes sending it again, by reloading the page of its reply, the same
 * search: it costs one credit.
 */
export function searchForm(asked: Asked, once: string, priceUnits: UsdcUnits): Html {
  const { query, maxResults, maxDescriptionLength } = asked;
  return html`<form id="playground" method="post" action="${PLAYGROUND_PATH}" class="panel">
    <input type="hidden" name="once" value="${once}" />
    ${field({ name: 'query', label: 'Query', value: query, hint: '1 to 50 words, 2 to 8 are best. “Quoted phrases” must stand as they are.', maxLength: 1000 })}
    <div class="row">
      ${field({ name: 'maxResults', label: 'Results', type: 'number', value: String(maxResults), min: 1, max: 20 })}
      ${field({ name: 'maxDescriptionLength', label: 'Characters of each passage', type: 'number', value: String(maxDescriptionLength), min: 1000, max: 8000 })}
    </div>
    <p class="buttons">
      <button class="main">Search for 1 credit</button>
      <button type="submit" name="by" value="wallet" hidden>
        Pay ${formatUsd(priceUnits)} USDC and search
      </button>
    </p>
    <p id="playground-state" role="status" aria-live="polite"></p>
  </form>`;
}

/** What came of a search: results, the reply as it was, and the call that repeats it. */
export function replyView(
  asked: Asked,
  reply: SearchReply,
  { tookMs, publicUrl }: { readonly tookMs: number; readonly publicUrl: string },
): Html {
  if (reply.kind === 'refused') {
    return html`<section id="results" aria-label="Reply">
      <p class="notice bad" role="alert">${reply.refusal.detail}</p>
      <p>
        <code>${reply.refusal.code}</code>, status ${reply.refusal.status}. Nothing was charged.
        <a href="/console/requests/${reply.requestId}">See the request.</a>
      </p>
    </section>`;
  }
  const text = Buffer.from(reply.body).toString('utf8');
  // The answer was checked against the contract when it came.
  const { results, searchMetadata } = (JSON.parse(text) as SearchResponse).result;
  const advice = adviceOn(asked.query, results);
  const engineMs = Math.max(1, Math.round(searchMetadata.executionTime * 1000));
  return html`<section id="results" aria-label="Reply">
    <p>
      <b>${counted(results.length, 'result')}</b> in ${number(Math.max(1, Math.round(tookMs)))} ms,
      ${engineMs} of them in the index. ${reply.isReplay ? 'Repeated, free.' : '1 credit.'}
      <a href="/console/requests/${reply.requestId}">Request</a> ·
      <a href="${permalink(asked)}">Link to this query</a>
    </p>
    ${
      advice.length > 0 &&
      html`<ul class="advice">
        ${advice.map((one) => html`<li>${one}</li>`)}
      </ul>`
    }
    ${results.length === 0 && shorter(asked)}
    <div class="tabs">
      ${tab('results', 'Results', true)} ${tab('json', 'JSON')} ${tab('code', 'Code')}
      <div>${hits(results, new Set(bareWords(asked.query)), 600)}</div>
      <div>${copyBlock('reply-json', 'the reply', JSON.stringify(JSON.parse(text), null, 2))}</div>
      <div>
        ${Object.entries(callsOf(asked, publicUrl)).map(
          ([language, call]) =>
            html`<h3>${language}</h3>
              ${copyBlock(`reply-${language}`, `the ${language} call`, call)}`,
        )}
      </div>
    </div>
  </section>`;
}

function tab(id: string, label: string, isFirst = false): Html {
  return html`<input type="radio" name="view" id="view-${id}" ${isFirst ? html`checked` : ''} />
    <label for="view-${id}">${label}</label>`;
}

/** Queries with one word less each, to be tried next. */
function shorter(asked: Asked): Html {
  const queries = shorterQueries(asked.query);
  if (queries.length === 0) return html``;
  return html`<ul class="chips one" aria-label="Try without a word">
    ${queries.map((query) => html`<li><a href="${permalink({ ...asked, query })}">${query}</a></li>`)}
  </ul>`;
}
