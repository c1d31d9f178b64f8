/** The playground: searches without leaving the page, or pays from the browser's wallet. */
import { decodedReceipt, fetchPaying, messageOf } from './wallet.js';

const form = document.querySelector<HTMLFormElement>('#playground');
const state = document.querySelector('#playground-state');
const receipt = document.querySelector<HTMLElement>('#reply');
const say = (text: string) => state?.replaceChildren(text);

const byWallet = form?.querySelector<HTMLButtonElement>('button[value=wallet]');
if (byWallet) byWallet.hidden = window.ethereum === undefined;

form?.addEventListener('submit', (event) => {
  event.preventDefault();
  const { submitter } = event;
  const isPaid = submitter instanceof HTMLButtonElement && submitter.value === 'wallet';
  void search(new FormData(form), isPaid).catch((error: unknown) => say(messageOf(error)));
});

async function search(data: FormData, isPaid: boolean): Promise<void> {
  say('Searching …');
  if (receipt) receipt.hidden = true;
  await (isPaid ? searchPaying(data) : searchOnAccount(data));
  const asked = new URLSearchParams({
    q: textOf(data, 'query'),
    results: textOf(data, 'maxResults'),
    length: textOf(data, 'maxDescriptionLength'),
  });
  history.replaceState(null, '', `?${asked.toString()}`);
}

function textOf(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === 'string' ? value : '';
}

/** The page that answers the form, of which only the reply is taken. */
async function searchOnAccount(data: FormData): Promise<void> {
  // Each press is a search of its own; only reloading a reply repeats one.
  data.set('once', crypto.randomUUID());
  const body = new URLSearchParams([...data].map(([name]) => [name, textOf(data, name)]));
  const response = await fetch(location.pathname, { method: 'POST', body });
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const [now, next] = [document.querySelector('#results'), page.querySelector('#results')];
  if (!now || !next) {
    location.reload();
    return;
  }
  now.replaceWith(next);
  say('');
}

interface Reply {
  readonly detail?: string;
  readonly result?: {
    readonly results: readonly { title: string; url: string; description: string }[];
  };
}

async function searchPaying(data: FormData): Promise<void> {
  const startedMs = performance.now();
  const response = await fetchPaying(
    '/search',
    {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        query: textOf(data, 'query'),
        maxResults: Number(textOf(data, 'maxResults')),
        maxDescriptionLength: Number(textOf(data, 'maxDescriptionLength')),
      }),
    },
    say,
  );
  const reply = (await response.json()) as Reply;
  showReceipt(response);
  if (!response.ok) {
    say(`${response.status}: ${reply.detail ?? ''}`);
    return;
  }
  const items = reply.result?.results ?? [];
  const tookMs = Math.round(performance.now() - startedMs);
  say(`${items.length} ${items.length === 1 ? 'result' : 'results'} in ${tookMs} ms, paid.`);
  const list = document.createElement('ol');
  list.className = 'hits';
  list.append(...items.map(hit));
  document.querySelector('#results')?.replaceChildren(list);
}

function hit({ title, url, description }: { title: string; url: string; description: string }) {
  const item = document.createElement('li');
  const [heading, link] = [document.createElement('h2'), document.createElement('a')];
  link.textContent = title;
  if (/^https?:/.test(url)) link.href = url;
  link.rel = 'noreferrer nofollow';
  heading.append(link);
  const [address, text] = [document.createElement('p'), document.createElement('p')];
  address.className = 'url';
  address.textContent = url;
  text.textContent = description;
  item.append(heading, address, text);
  return item;
}

/** What was paid, as the receipt says it, with a link to the transaction where a chain has pages. */
function showReceipt(response: Response): void {
  const shown = decodedReceipt(response);
  if (!receipt || !shown) return;
  receipt.replaceChildren(JSON.stringify(shown.receipt, null, 2));
  if (shown.link !== undefined) {
    const link = document.createElement('a');
    [link.href, link.textContent, link.rel] = [shown.link, 'See the transaction', 'noreferrer'];
    receipt.append('\n\n', link);
  }
  receipt.hidden = false;
}
