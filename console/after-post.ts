/**
 * On a page that answers a form: from here on its address is that of its section, so that reloading
 * it shows the section again and sends no form twice.
 */
const section = document.querySelector<HTMLAnchorElement>('nav a[aria-current]');
if (section) history.replaceState(null, '', section.href);
export {};
