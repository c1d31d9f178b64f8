import { html, type Html } from '../html.js';
import { field } from '../page.js';
import type { ConsoleParts } from '../parts.js';

/** Tries each way in against this very server; the page's script does it and shows each step. */
export function checkPanel({ mcp }: ConsoleParts): Html {
  return html`<section id="check" data-keyed="${mcp.keyed}" data-open="${mcp.open}">
    <h2>Test the connection</h2>
    <p>Each test connects like a client, searches once, and shows what happened.</p>
    <noscript><p class="notice bad">The checks need JavaScript.</p></noscript>
    <form id="check-key" class="panel">
      <h3>With a key</h3>
      ${field({ name: 'key', label: 'API key', type: 'password', hint: 'The key stays on this page. The test costs one credit.' })}
      <button>Check the key</button>
      ${steps('key', 'Steps with a key')}
    </form>
    <form id="check-sign-in" class="panel">
      <h3>By signing in</h3>
      <p class="hint">
        Takes you to the consent page and back. The test costs one credit and disconnects
        afterwards.
      </p>
      <button>Check the sign-in</button>
      ${steps('sign-in', 'Steps of the sign-in')}
    </form>
    <form id="check-payment" class="panel">
      <h3>By payment</h3>
      <p class="hint">
        Shows the price of a call. If this browser has a wallet, it asks you to sign the payment.
      </p>
      <button>Check the payment</button>
      ${steps('payment', 'Steps of the payment')}
    </form>
  </section>`;
}

function steps(way: string, label: string): Html {
  return html`<ol
    id="check-${way}-steps"
    class="steps"
    aria-label="${label}"
    aria-live="polite"
  ></ol>`;
}
