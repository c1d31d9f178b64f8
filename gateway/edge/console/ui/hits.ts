import { queryWords, type SearchResultItem } from '../../../../search-core/contract.js';
import { html, type Html } from '../html.js';

/** The words of a query as they would stand in a text: in lower case, without signs around them. */
export function bareWords(query: string): readonly string[] {
  const bare = queryWords(query.toLowerCase()).flatMap((word) => word.split(/[^\p{L}\p{N}]+/u));
  return [...new Set(bare.filter((word) => word !== ''))];
}

/** The text with the words of the query marked. */
export function marked(text: string, words: ReadonlySet<string>): readonly (Html | string)[] {
  return text
    .split(/([\p{L}\p{N}]+)/u)
    .map((part) => (words.has(part.toLowerCase()) ? html`<mark>${part}</mark>` : part));
}

/** Results as a list to read, with the words of the query marked. */
export function hits(
  items: readonly SearchResultItem[],
  words: ReadonlySet<string>,
  lengthMax: number,
): Html {
  return html`<ol class="hits">
    ${items.map(({ title, url, description }) => {
      const shown =
        description.length > lengthMax ? `${cut(description, lengthMax)}…` : description;
      const heading = /^https?:/.test(url)
        ? html`<a href="${url}" rel="noreferrer nofollow">${marked(title, words)}</a>`
        : marked(title, words);
      return html`<li>
        <h2>${heading}</h2>
        <p class="url">${url}</p>
        <p>${marked(shown, words)}</p>
      </li>`;
    })}
  </ol>`;
}

const cut = (text: string, length: number) => text.slice(0, text.lastIndexOf(' ', length));
