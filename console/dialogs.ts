/**
 * Links marked `data-dialog` lead to a page with one form. Here that form opens in a native dialog
 * over the page instead; when it cannot be fetched, the link is followed after all.
 */
export function openDialogs(): void {
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element && event.target.closest('a[data-dialog]');
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
    if (!(link instanceof HTMLAnchorElement) || !isPlain) return;
    event.preventDefault();
    void show(link).catch(() => {
      location.href = link.href;
    });
  });
}

async function show(link: HTMLAnchorElement): Promise<void> {
  const response = await fetch(link.href, { headers: { Accept: 'text/html' } });
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const [title, form] = [page.querySelector('main h1'), page.querySelector('main form.ask')];
  if (!response.ok || response.redirected || !title || !form) throw new Error('no form there');
  const dialog = document.createElement('dialog');
  title.id = 'dialog-title';
  dialog.setAttribute('aria-labelledby', title.id);
  const heading = document.createElement('h2');
  heading.id = title.id;
  heading.textContent = title.textContent;
  dialog.append(heading, form);
  dialog.addEventListener('close', () => {
    dialog.remove();
    link.focus();
  });
  dialog.addEventListener('click', (event) => {
    const { target } = event;
    const isClose = target instanceof Element && target.closest('[data-close]') !== null;
    if (!isClose && target !== dialog) return;
    event.preventDefault();
    dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
}
