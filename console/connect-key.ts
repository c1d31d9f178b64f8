/** Connect: puts a key into every setup on the page, and into the links; it leaves the page in none else. */
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
export {};
