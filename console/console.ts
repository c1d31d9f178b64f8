/** What every page of the console has: copy, toasts, dialogs, charts. All of it works without, too. */
import { openDialogs } from './dialogs.js';
import { readCharts } from './charts.js';

for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-dismiss]')) {
  button.hidden = false;
  button.addEventListener('click', () => button.parentElement?.remove());
}

document.addEventListener('click', (event) => {
  const button = event.target instanceof Element && event.target.closest('button[data-copy]');
  if (!(button instanceof HTMLButtonElement)) return;
  const source = document.getElementById(button.dataset.copy ?? '');
  void navigator.clipboard.writeText(source?.textContent ?? '').then(() => {
    button.textContent = 'Copied';
  });
});

// On a narrow screen the menu is one line that scrolls: the current entry is in sight.
document
  .querySelector('.frame > nav a[aria-current]')
  ?.scrollIntoView({ block: 'nearest', inline: 'center' });

openDialogs();
readCharts();
