/** The front page: searches without leaving it, and copies calls. Without a script the form works. */
const form = document.querySelector<HTMLFormElement>('form[role=search]');
const left = document.querySelector('#left');
let asked: AbortController | undefined;

/** The page's own search, and what changes on the page by it. */
async function search(address: string): Promise<void> {
  asked?.abort();
  asked = new AbortController();
  document.body.classList.add('searching');
  try {
    const response = await fetch(address, {
      headers: { Accept: 'text/html' },
      signal: asked.signal,
    });
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    for (const id of ['results', 'left']) {
      const [now, next] = [document.getElementById(id), page.getElementById(id)];
      if (now && next) now.replaceChildren(...next.childNodes);
    }
    document.title = page.title;
    keep();
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    left?.replaceChildren('The search got lost. Try again.');
  }
  document.body.classList.remove('searching');
}

/** What each address of this visit showed, for the way back. */
const shown = new Map<string, readonly Node[]>();
const results = document.querySelector('#results');
const box = document.querySelector<HTMLInputElement>('#q');
const keep = () => {
  shown.set(location.search, [...(results?.cloneNode(true).childNodes ?? [])]);
};

const pay = document.querySelector<HTMLButtonElement>('#pay');
const paid = document.querySelector<HTMLElement>('#paid');
if (pay) pay.hidden = !('ethereum' in window);
const sayPaid = (text: string) => {
  if (!paid) return;
  paid.hidden = text === '';
  paid.textContent = text;
};

/** A search that the visitor's wallet pays for; what that needs is loaded only now. */
async function searchPaying(query: string): Promise<void> {
  const { fetchPaying, messageOf, decodedReceipt } = await import('./wallet.js');
  try {
    sayPaid('Asking for the price …');
    const headers = { 'Content-Type': 'application/json' };
    const body = JSON.stringify({ query, maxResults: 5, maxDescriptionLength: 1000 });
    const response = await fetchPaying('/search', { method: 'POST', headers, body }, sayPaid);
    const reply = (await response.json()) as PaidReply;
    const receipt = decodedReceipt(response)?.receipt as { transaction?: string } | undefined;
    const transaction = receipt?.transaction ?? '';
    sayPaid(response.ok ? `Paid, in transaction ${transaction}` : (reply.detail ?? 'It failed.'));
    if (response.ok) results?.replaceChildren(listOf(reply.result?.results ?? []));
  } catch (error) {
    sayPaid(messageOf(error));
  }
}

interface PaidReply {
  readonly detail?: string;
  readonly result?: {
    readonly results: readonly { title: string; url: string; description: string }[];
  };
}

function listOf(items: readonly { title: string; url: string; description: string }[]): Node {
  const list = document.createElement('ol');
  for (const { title, url, description } of items) {
    const item = document.createElement('li');
    const [heading, link] = [document.createElement('h2'), document.createElement('a')];
    [link.textContent, link.rel] = [title, 'noreferrer nofollow'];
    if (/^https?:/.test(url)) link.href = url;
    heading.append(link);
    const [address, text] = [document.createElement('p'), document.createElement('p')];
    [address.className, address.textContent] = ['url', url];
    text.textContent = description.slice(0, 280);
    item.append(heading, address, text);
    list.append(item);
  }
  return list;
}

form?.addEventListener('submit', (event) => {
  event.preventDefault();
  keep();
  sayPaid('');
  const query = new FormData(form).get('q');
  if (event.submitter === pay && pay) {
    void searchPaying(typeof query === 'string' ? query : '');
    return;
  }
  const address = `/?q=${encodeURIComponent(typeof query === 'string' ? query : '')}`;
  history.pushState(null, '', address);
  void search(address);
});

addEventListener('popstate', () => {
  const before = shown.get(location.search);
  if (!before) return;
  asked?.abort();
  results?.replaceChildren(...before.map((node) => node.cloneNode(true)));
  if (box) box.value = new URLSearchParams(location.search).get('q') ?? '';
});

for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', () => {
    const code = document.querySelector(`#${button.dataset.copy ?? ''} code`);
    void navigator.clipboard.writeText(code?.textContent ?? '').then(() => {
      button.textContent = 'Copied';
    });
  });
}
