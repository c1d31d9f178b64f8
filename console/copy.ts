/** Buttons that copy the text of another element: `data-copy` names its id. */
for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
  button.addEventListener('click', () => {
    const source = document.getElementById(button.dataset.copy ?? '');
    void navigator.clipboard.writeText(source?.textContent ?? '').then(() => {
      button.textContent = 'Copied';
    });
  });
}
