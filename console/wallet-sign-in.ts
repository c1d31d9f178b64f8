/**
 * Forms that a wallet in the browser signs (EIP-1193): to sign in, or to be added to a profile. The
 * server makes the message (ERC-4361), the wallet shows and signs it, and the form is sent.
 */
import { isDeclined, WalletProblem } from './wallet.js';

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-challenge]')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void signAndSend(form);
  });
}

async function signAndSend(form: HTMLFormElement): Promise<void> {
  const button = form.querySelector('button');
  const state = form.querySelector('[role=status]');
  const say = (text: string) => state?.replaceChildren(text);
  if (button) button.disabled = true;
  try {
    say('Sign the message in your wallet …');
    const { nonce, signature } = await signChallenge(form.dataset.challenge ?? '');
    set(form, 'nonce', nonce);
    set(form, 'signature', signature);
    form.submit();
  } catch (error) {
    say(messageOf(error));
    if (button) button.disabled = false;
  }
}

function set(form: HTMLFormElement, name: string, value: string): void {
  const input = form.querySelector<HTMLInputElement>(`input[name=${name}]`);
  if (input) input.value = value;
}

async function signChallenge(url: string): Promise<{ nonce: string; signature: string }> {
  const wallet = window.ethereum;
  if (!wallet) throw new WalletProblem('This browser has no wallet.');
  const [address] = (await wallet.request({ method: 'eth_requestAccounts' })) as string[];
  if (address === undefined) throw new WalletProblem('The wallet has no account.');
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams({ address }) });
  if (!response.ok)
    throw new WalletProblem('Something went wrong. Reload this page and try again.');
  const { nonce, message } = (await response.json()) as { nonce: string; message: string };
  const params = [hexOf(message), address];
  const signature = (await wallet.request({ method: 'personal_sign', params })) as string;
  return { nonce, signature };
}

function hexOf(text: string): string {
  const bytes = [...new TextEncoder().encode(text)];
  return `0x${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function messageOf(error: unknown): string {
  if (error instanceof WalletProblem) return error.message;
  return isDeclined(error) ? 'You declined in the wallet.' : 'The wallet didn’t sign.';
}
