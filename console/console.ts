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

openDialogs();
readCharts();
