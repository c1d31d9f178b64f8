/** The playground: searches with a key, or pays from the browser's wallet. */
import { fetchPaying, messageOf, WalletProblem } from './wallet.js';

interface Item {
  readonly title: string;
  readonly url: string;
  readonly description: string;
}

interface Reply {
  readonly requestId?: string;
  readonly detail?: string;
  readonly result?: { readonly results: readonly Item[] };
}

const form = document.querySelector<HTMLFormElement>('#playground');
const state = document.querySelector('#playground-state');
const list = document.querySelector('#results');
const headers = document.querySelector<HTMLElement>('#reply');
const say = (text: string) => state?.replaceChildren(text);

form?.addEventListener('submit', (event) => {
  event.preventDefault();
  const { submitter } = event;
  const isPaid = submitter instanceof HTMLButtonElement && submitter.value === 'wallet';
  void search(new FormData(form), isPaid);
});

async function search(data: FormData, isPaid: boolean): Promise<void> {
  list?.replaceChildren();
  say('Searching …');
  const startedMs = performance.now();
  try {
    const response = await send(data, isPaid);
    const reply = (await response.json()) as Reply;
    const tookMs = Math.round(performance.now() - startedMs);
    showHeaders(response);
    if (!response.ok) {
      say(`${response.status}: ${reply.detail ?? ''}`);
      return;
    }
    const items = reply.result?.results ?? [];
    say(`${items.length} results in ${tookMs} ms. Request ${reply.requestId ?? ''}`);
    list?.replaceChildren(...items.map(show));
  } catch (error) {
    say(messageOf(error));
  }
}

async function send(data: FormData, isPaid: boolean): Promise<Response> {
  const body = JSON.stringify({
    query: data.get('query'),
    maxResults: Number(data.get('maxResults')),
    maxDescriptionLength: Number(data.get('maxDescriptionLength')),
  });
  const json = { 'Content-Type': 'application/json' };
  if (isPaid) return fetchPaying('/search', { method: 'POST', headers: json, body }, say);
  const key = data.get('key');
  if (typeof key !== 'string' || key.trim() === '')
    throw new WalletProblem('Enter an API key, or pay from your wallet.');
  return fetch('/search', {
    method: 'POST',
    headers: { ...json, Authorization: `Bearer ${key.trim()}` },
    body,
  });
}

function show({ title, url, description }: Item): HTMLElement {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.textContent = title;
  if (/^https?:/.test(url)) link.href = url;
  link.rel = 'noreferrer';
  const address = document.createElement('p');
  address.className = 'url';
  address.textContent = url;
  const text = document.createElement('p');
  text.textContent = description;
  item.append(link, address, text);
  return item;
}

const SHOWN = ['x-request-id', 'ratelimit', 'ratelimit-policy', 'retry-after', 'payment-response'];

function showHeaders(response: Response): void {
  if (!headers) return;
  const lines = SHOWN.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [`${name}: ${value}`];
  });
  headers.textContent = [`HTTP ${response.status}`, ...lines].join('\n');
  headers.hidden = false;
}
