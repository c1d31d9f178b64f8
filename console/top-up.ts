/** Billing: buys credits with a payment from the browser's wallet. */
import { fetchPaying, messageOf } from './wallet.js';

const form = document.querySelector<HTMLFormElement>('#top-up');
const state = document.querySelector('#top-up-state');
const say = (text: string) => state?.replaceChildren(text);

form?.addEventListener('submit', (event) => {
  event.preventDefault();
  void topUp(form);
});

async function topUp(source: HTMLFormElement): Promise<void> {
  const button = source.querySelector('button');
  if (button) button.disabled = true;
  try {
    const amountUsd = source.querySelector('input')?.value ?? '';
    const body = new URLSearchParams({ amountUsd });
    const response = await fetchPaying(
      source.action,
      {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: body.toString(),
      },
      say,
    );
    const reply = (await response.json()) as { credits?: number; detail?: string };
    if (response.ok) {
      say(`${(reply.credits ?? 0).toLocaleString('en-US')} credits were added.`);
      setTimeout(() => location.reload(), 1500);
    } else say(reply.detail ?? 'Something went wrong. Try again.');
  } catch (error) {
    say(messageOf(error));
  } finally {
    if (button) button.disabled = false;
  }
}
