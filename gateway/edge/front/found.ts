/** What came of a search on the front page, as a part of it. */
import type { SearchResponse, SearchResultItem } from '../../../search-core/contract.js';
import { html, type Html } from '../console/html.js';
import { bareWords, marked } from '../console/ui/hits.js';
import type { FreeReply } from '../../search/free.js';

/** A search that was made here: its words, its outcome, and how long it took. */
export interface Found {
  readonly query: string;
  readonly reply: FreeReply;
}

/** The results, or why there are none; announced to those who do not see it. */
export function foundPart(found: Found | undefined): Html {
  return html`<section id="results" aria-label="Results" aria-live="polite">
    ${found && outcome(found)}
  </section>`;
}

function outcome({ query, reply }: Found): Html {
  switch (reply.kind) {
    case 'results':
      return results(query, reply.result);
    case 'used-up':
      return html`<p class="said">
        You’ve used today’s free searches. <a href="/console/sign-up">Create an account</a> for
        1,000 more, or pay per search with <a href="#use">any x402 client</a>.
      </p>`;
    case 'busy':
      return html`<p class="said">
        Many people are trying this right now. Search again in a few seconds.
      </p>`;
    case 'refused':
      return html`<p class="said">${reply.refusal.detail}</p>`;
  }
}

function results(
  query: string,
  { results: items, searchMetadata }: SearchResponse['result'],
): Html {
  if (items.length === 0) {
    return html`<p class="said">
      No page has these words. Search is literal: try fewer words, or check their spelling.
    </p>`;
  }
  const tookMs = Math.max(1, Math.round(searchMetadata.executionTime * 1000));
  const words = new Set(bareWords(query));
  return html`<p class="took">
      ${items.length === 1 ? '1 result' : `${items.length} results`} in ${tookMs} ms
    </p>
    <ol>
      ${items.map((item) => result(item, words))}
    </ol>`;
}

/** Characters of a passage that are shown here; the API gives up to 8,000. */
const SHOWN_LENGTH = 280;

function result({ title, url, description }: SearchResultItem, words: ReadonlySet<string>): Html {
  const isLink = /^https?:/.test(url);
  const shown = description.length > SHOWN_LENGTH ? `${cut(description)}…` : description;
  return html`<li>
    <h2>${isLink ? html`<a href="${url}" rel="noreferrer nofollow">${title}</a>` : title}</h2>
    <p class="url">${url}</p>
    <p>${marked(shown, words)}</p>
  </li>`;
}

const cut = (text: string) => text.slice(0, text.lastIndexOf(' ', SHOWN_LENGTH));
