import type { Router } from 'express';
import { formatUsd } from '../../../ground/domain/units.js';
import type { Guard } from '../guard.js';
import { html } from '../html.js';
import { field, sendPage } from '../page.js';
import type { ConsoleParts } from '../parts.js';

/** A search by hand: with a key, or paid from a wallet in the browser. Runs in the page's script. */
export function playgroundPage(router: Router, { priceUnits }: ConsoleParts, guard: Guard): void {
  router.get(
    '/playground',
    guard.signedIn((viewer, _request, response) => {
      sendPage(response, {
        title: 'Playground',
        viewer,
        path: '/console/playground',
        scripts: ['playground.js'],
        body: html`<form id="playground" class="panel">
            ${field({ name: 'query', label: 'Query', hint: '1 to 50 words; order matters', value: 'viem sign typed data' })}
            <div class="row">
              ${field({ name: 'maxResults', label: 'Results', type: 'number', value: '5', min: 1, max: 20 })}
              ${field({ name: 'maxDescriptionLength', label: 'Maximum length of each description', type: 'number', value: '1000', min: 1000, max: 8000 })}
            </div>
            ${field({ name: 'key', label: 'API key', type: 'password', isOptional: true, hint: 'The key stays on this page. Without one, pay from your wallet.' })}
            <p class="buttons">
              <button class="main" name="by" value="key">Search with the key</button>
              <button name="by" value="wallet">Pay ${formatUsd(priceUnits)} USDC and search</button>
            </p>
            <p id="playground-state" role="status" aria-live="polite"></p>
          </form>
          <ol id="results" aria-label="Results"></ol>
          <pre id="reply" tabindex="0" aria-label="Response headers" hidden></pre>
          <noscript><p class="notice bad">The playground needs JavaScript.</p></noscript>`,
      });
      return Promise.resolve();
    }),
  );
}
