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

form?.addEventListener('submit', (event) => {
  event.preventDefault();
  keep();
  const query = new FormData(form).get('q');
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
