/** Connect: puts a key into every setup and link on the page, and loads the checks when they are wanted. */
const PLACEHOLDER = 's402_live_…';
const input = document.querySelector<HTMLInputElement>('#own-key');
const holder = document.querySelector<HTMLElement>('#connect-key');
if (holder) holder.hidden = false;

const texts = [...document.querySelectorAll('.setup pre')].map((element) => ({
  element,
  text: element.textContent,
}));
const links = [...document.querySelectorAll<HTMLAnchorElement>('a[data-install]')].map(
  (element) => ({ element, href: element.href }),
);

input?.addEventListener('input', () => {
  const key = input.value.trim() || PLACEHOLDER;
  for (const { element, text } of texts) element.textContent = text.replaceAll(PLACEHOLDER, key);
  for (const { element, href } of links) element.href = filled(href, key);
});

/** The link with the key in it: Cursor's holds base64 of JSON, VS Code's JSON. */
function filled(href: string, key: string): string {
  const [head = '', config] = href.split('config=');
  if (config === undefined)
    return href.replaceAll(encodeURIComponent(PLACEHOLDER), encodeURIComponent(key));
  const bytes = Uint8Array.from(atob(decodeURIComponent(config)), (sign) => sign.charCodeAt(0));
  const text = new TextDecoder().decode(bytes).replaceAll(PLACEHOLDER, key);
  const encoded = btoa(String.fromCharCode(...new TextEncoder().encode(text)));
  return `${head}config=${encodeURIComponent(encoded)}`;
}

/** The checks are large and seldom pressed: they are loaded with the first press, or on the way back. */
const checks = document.querySelector('#check');
const load = () => import('./connect-check.js');
checks?.addEventListener(
  'submit',
  (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    const form = event.target;
    void load().then(() => {
      if (form instanceof HTMLFormElement) form.requestSubmit();
    });
  },
  { capture: true, once: true },
);
const query = new URLSearchParams(location.search);
if (query.has('state') && (query.has('code') || query.has('error'))) void load();
export {};
